"""``repro doctor smoke`` with an encoder of one's own."""

import click

from repro.cli import completion
from repro.cli.options import table_and_row_options
from repro.cli.verbs.doctor import SCALE, bm25_cell, run_rows, tell
from repro.errors import UsageError
from repro.plugins.yours.sources import is_encoder


@click.command(
    "smoke",
    epilog="""\b
Examples:
  repro doctor smoke                       one trained row and BM25: that this installation works
  repro doctor smoke PAPER --table 1       every row of a table, as of a paper of yours
  repro doctor smoke DIR                   an encoder of yours, through encoding, search and scoring""",
)
@click.argument("names", metavar="[PAPER|ENCODER]...", nargs=-1, shell_complete=completion.paper_names)
@table_and_row_options
def command(names, tables, rows):
    """Run stages from nothing on the embedded collection, two steps of each training, and keep nothing.

    For continuous integration: exit status 0 says that everything ran, 3 that a stage failed, 4 that
    something is missing. The numbers say nothing. Without a PAPER the cheapest trained row and BM25 are run.
    What is printed is Markdown, for $GITHUB_STEP_SUMMARY.
    """
    encoder, others = _parted(names, tables, rows)
    if encoder:
        return tell(lambda workspace: (_score_encoder(encoder, others, tables, workspace), 0))
    return tell(lambda workspace: run_rows(names, tables, rows, workspace))


def _parted(names, tables, rows) -> tuple[str, list[str]]:
    """Return the encoder among names, or nothing, and the others. Raises UsageError where both do not go."""
    from repro.manifest.papers import papers

    encoders = [name for name in names if name.partition("/")[0] not in papers() and is_encoder(name)]
    others = [name for name in names if name not in encoders]
    if encoders and (rows or encoders[1:] or (len(others), len(tables)) not in ((0, 0), (1, 1))):
        message = "one encoder is scored, in the columns of one PAPER's --table or of none named; no --row"
        raise UsageError(message)
    return "".join(encoders), others


def _score_encoder(model, names, tables, workspace) -> list[str]:
    """Score an encoder in the columns of a table, the first one without a name."""
    from repro.plugins.yours.compare import compare
    from repro.progress import TerminalProgress
    from repro.writers.grid import rounded

    table = f"{names[0]}/{tables[0]}" if names and tables else bm25_cell().id.rsplit("/", 2)[0]
    compared = compare(table, yours=model, scale=SCALE, workspace=workspace, progress=TerminalProgress())
    cells = [c for own in compared.yours for row in own.rows for c in row.cells]
    scores = [(c.cell, c.records[0]) for c in cells]
    return [
        f"scored: {cell.id}, {record.measure} {rounded(record.measured, cell)}" for cell, record in scores
    ]
