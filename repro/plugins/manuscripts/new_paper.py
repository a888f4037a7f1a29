"""``repro new paper``, with a draft of its cells from a source."""

from pathlib import Path

import click

from repro.cli.verbs.new import paper as plain_paper
from repro.errors import UsageError


@click.command(
    "paper",
    params=[*plain_paper.command.params],
    epilog="""\b
Examples:
  repro new paper NAME                      placeholders that run
  repro new paper NAME --from paper.tex     cells drafted from the tables of a source
  repro new paper NAME --from arxiv.tar.gz --dir DIR""",
)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="Draft its cells from a source: LaTeX (a file, folder or archive), Markdown, CSV, HTML.",
)
def command(name, source, directory):
    """Begin another paper: a folder of placeholders that runs at tiny scale, with tests that pass.

    NAME is a Python package's: lower-case letters, digits, underscores. With --from each results table is
    drafted: columns with collection and measure as far as headings tell, rows with the recipe of a system
    that the suite knows, numbers, bold and marks as they are. What the source does not say is asked for in
    cells.yaml and listed in README.md. Captions and sentences are not copied.
    """
    if source is None:
        return click.get_current_context().invoke(plain_paper.command, name=name, directory=directory)
    from repro.plugins.manuscripts.draft import draft
    from repro.plugins.manuscripts.reading import read

    plain_paper.check_name(name)
    manuscript = read(Path(source))
    made = draft(name, manuscript)
    if not made.tables:
        reasons = "; ".join(f"{place}: {reason}" for place, reason in made.left_out[:3])
        raise UsageError(
            f"{source}: no table of results is in it ({reasons}); write cells.yaml by hand instead"
        )
    files = plain_paper.scaffold(name, plain_paper.folder_of(directory), _contents(name, source, made))
    for path in files:
        print(path)
    _show(name, files[0].parent, made, manuscript.notes)
    return None


def _contents(name: str, source: str, made) -> dict[str, str | None]:
    """Return the files that are another paper's than the template's; what nobody has read yet is absent."""
    from repro.plugins.manuscripts import draft_text

    title = Path(source).name
    placeholder = plain_paper.TEMPLATES / "readings.yaml.txt"  # which the placeholder of a recipe asks for
    return {
        "cells.yaml": draft_text.cells_text(name, title, made),
        "readings.yaml": placeholder.read_text() + draft_text.readings_text(made),
        "README.md": draft_text.readme_text(name, title, made),
        **dict.fromkeys(("claims.yaml", "audit.yaml", "settings.yaml", "costs.yaml")),
    }


def _show(name: str, folder: Path, made, notes) -> None:
    """Print what was resolved of each table, what was left out, and what to do next."""
    from repro.cli.printing import say, table
    from repro.plugins.manuscripts.draft_text import questions

    head = ("table", "columns", "known", "likely", "asked", "rows", "measurable", "in the source")
    lines = [(t.id, *map(str, _counts(t)), str(t.head.place)) for t in made.tables]
    table(f"{name}: {sum(len(t.rows) for t in made.tables)} rows", head, lines, right=range(1, 7), drop=(7,))
    for place, reason in made.left_out:
        say(f"{place} is left out: {reason}")
    for note in notes:
        say(note)
    say(f"asked: {len(questions(made, 'asked'))} questions, listed in {folder / 'README.md'}")
    measured = next((t.id for t in made.tables if _counts(t)[5] and _counts(t)[3] < len(t.columns)), None)
    say(f"next: repro show {name} --table {made.tables[0].id}")
    if measured is not None:
        say(f"then: repro run {name} --table {measured} --scale tiny, for the rows whose recipe is known")
    say(f"then: answer what {folder / 'cells.yaml'} asks; `repro show coverage {name}` names what is open")


def _counts(table) -> tuple[int, int, int, int, int, int]:
    """Return a table's columns, of them known, likely and asked for, its rows, and those with a recipe."""
    asked = sum(entry.is_asked for entry in table.columns)
    likely = sum(any(r.kind == "likely" for r in entry.remarks) for entry in table.columns)
    columns, recipes = len(table.columns), sum("recipe" in entry.facts for entry in table.rows)
    return columns, columns - asked - likely, likely, asked, len(table.rows), recipes
