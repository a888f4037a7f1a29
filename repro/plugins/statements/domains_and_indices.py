"""Two checks of what a text says, held against facts that its audit.yaml states: domains and indices."""

from collections.abc import Iterator
from string import ascii_uppercase

from repro.manifest.cells import cells_of
from repro.manifest.papers import Paper
from repro.plugins.statements.findings import Finding, notes_of


def of_domains(source: Paper) -> Iterator[Finding]:
    """A doubt for every number in a table of other domains whose system was trained on that very set.

    Which systems learnt from which sets is ``trained_on``, which tables are said to be of other domains
    ``out_of_domain``.
    """
    own_notes = notes_of(source)
    tables = [t for t in source.manifest.tables if t.id in own_notes.out_of_domain]
    for cell in cells_of(source, tuple(tables)):
        sets = own_notes.trained_on[cell.row.system]
        if cell.is_numeric and any(f"{cell.column.dataset}/".startswith(f"{name}/") for name in sets):
            says = (
                f"Table {cell.table.id} is of sets that its systems were not trained on; {cell.row.label} was"
            )
            identifier = f"{source.name}/domain/{cell.table.id}/{cell.row.id}/{cell.column.id}"
            values = (cell.printed.plain,)
            yield Finding("doubt", "domain", "third party", source.name, identifier, (cell.id,), values, says)


def of_indices(source: Paper) -> Iterator[Finding]:
    """A doubt for every index of an equation that leaves the entries which its sequence has."""
    for index in notes_of(source).indices:
        first, last = (_number(end) for end in index.sequence)
        used = [_number(end) + _number(index.uses.replace("i", "")) for end in index.runs]
        beyond = [word for word, is_so in (("first", used[0] < first), ("last", used[1] > last)) if is_so]
        if beyond:
            says = f"{index.where}: {index.says}; the {' and the '.join(beyond)} of the sequence has none"
            place = (f"{source.name}/{index.where}",)
            identifier = f"{source.name}/index/{index.id}"
            yield Finding("doubt", "index", "paper", source.name, identifier, place, (index.uses,), says)


def _number(end: str) -> int:
    """A bound such as ``N+1`` as a number that keeps the order: a letter stands for a million."""
    return 1_000_000 * end[:1].isalpha() + int(end.lstrip(ascii_uppercase) or 0)
