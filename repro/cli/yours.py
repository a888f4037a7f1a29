"""A run or an encoder of one's own, scored in a table's columns or by a dataset's judgements."""

import sys
from collections.abc import Sequence
from pathlib import Path

from repro.errors import UsageError

FORMS = (".yaml", ".yml")  # of a file that describes an encoder
RUNS = (".run", ".trec", ".txt", ".tsv", ".gz")  # of a run, which may not be there


def is_encoder(name: str) -> bool:
    """Return whether a name means an encoder: a folder, a description of one, or a model of the hub."""
    path = Path(name)
    is_of_hub = not path.exists() and name.count("/") == 1 and path.suffix not in RUNS
    return path.suffix in FORMS or path.is_dir() or is_of_hub


def score_run(run: str, dataset: str, measures: Sequence[str], *, as_json: bool) -> None:
    """Print the scores of a run by the judgements of a dataset, each measure of its own or those named."""
    from repro.api.scores import evaluate
    from repro.cli.printing import emit_json

    scores = evaluate(run, dataset=dataset, measures=measures).as_json()
    if as_json:
        return emit_json({"run": run, "dataset": dataset, **scores})
    del scores["among_others"]  # of cells, of which none is named
    print(f"{run} on {dataset}")
    for sentence in scores.pop("differing"):
        print(f"no published number compares with this: {sentence}", file=sys.stderr)
    for name in scores.pop("left_out"):
        reason = f"the run has {scores['depth']} documents a query"
        print(f"{name} is left out: {reason}, and it looks deeper", file=sys.stderr)
    for name, value in _flatten(scores):
        print(f"  {name:16}{value:.4f}" if isinstance(value, float) else f"  {name:16}{value}")


def _flatten(scores: dict):
    """Yield names and values, of mappings inside too."""
    for name, value in scores.items():
        yield from _flatten(value) if isinstance(value, dict) else ((name, value),)


def _description(name: str) -> dict:
    """Return what is known of an encoder: its model and, of a file that describes one, how it reads texts.

    Raises UsageError for a key that says nothing of an encoder.
    """
    from repro.errors import check_known
    from repro.manifest.yaml_file import read
    from repro.yours.encoders import FACTS

    if Path(name).suffix not in FORMS:
        return {"model": name}
    facts = read(Path(name), dict[str, str | int])
    if not facts.get("model"):
        raise UsageError(f"{name} names no model; write `model: DIR` and how it reads texts")
    check_known(f"key of {name}", *facts, valid=("model", *FACTS))
    return facts


def score_encoder(name: str, table: str, row: str | None, scale_name: str, *, as_json: bool) -> None:
    """Print the scores of an encoder in the columns of a table, ``PAPER/N``, beside the best published.

    Args:
        name: a folder, a name of the hub, or a YAML file with the model and how it reads texts.
        row: the row that it is meant to be, if any.
    """
    from repro.api.scores import evaluate
    from repro.cli.printing import emit_json, say
    from repro.cli.printing import table as printed
    from repro.progress import TerminalProgress
    from repro.running.scale import scale
    from repro.running.workspace import Workspace

    facts = _description(name)
    model = str(facts.pop("model"))
    scores = evaluate(
        model,
        query_model=facts.pop("query_model", None),
        table=table,
        row=row,
        conventions=facts,
        scale=scale_name,
        workspace=Workspace.open(),
        progress=TerminalProgress(),
    )
    for sentence in (f"{model}: {scores.described}", *scores.left_out):
        print(sentence, file=sys.stderr)
    if as_json:
        return emit_json([column.as_json() for column in scores])
    rows = []
    for c in scores:
        best = c.best.printed
        score = f"{c.score:.{best.decimals}f}"
        measure = f"{c.measure}, cut at {c.depth}" if c.cut else c.measure
        rows.append((c.id, c.head, measure, score, str(best.value), c.best.row.label))
    note = (
        ""
        if scale(scale_name).compares_with_paper
        else f" (scale {scale_name}: other collections than the paper's)"
    )
    head = ("column", "", "measure", "this encoder", "best published", "by")
    printed(f"{model} on {table}{note}", head, rows, right=(3, 4))
    for place in filter(None, (column.among_others for column in scores)):
        say(f"{place.cell.column.id}, {place.cell.row.label}: {place}")
