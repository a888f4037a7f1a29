"""Differences between papers in values, bold numbers and marks, e.g. .187 and .184 for the same run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product, starmap

from repro.graph import grouped
from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.papers import Paper
from repro.manifest.printed import are_apart
from repro.plugins.statements.findings import Finding, Findings, Notes, printed

Scored = tuple[str, str]  # dataset, measure


def disagreements(sources: list[Paper], notes: Notes) -> Findings:
    """Yield an error or a doubt for each configuration with unequal published values of a measure."""
    for name, group in grouped((notes.configuration(c), c) for c in _known_cells(sources)).items():
        unequal = {
            key: cells
            for key, cells in grouped((dataset_and_measure(c), c) for c in group).items()
            if any(starmap(numbers_differ, combinations(cells, 2)))
        }
        if unequal:
            yield _disagreement(name, unequal)


def dataset_and_measure(cell: Cell) -> Scored:
    """Return the dataset and measure of a cell, with Success@k as R@k, as papers print it."""
    return cell.column.dataset or "", (cell.column.measure or "").replace("Success@", "R@")


def _configured(cell: Cell, notes: Notes) -> tuple[str, Scored]:
    return notes.configuration(cell), dataset_and_measure(cell)


def numbers_differ(a: Cell, b: Cell) -> bool:
    """Return whether two published numbers cannot be equal before rounding."""
    return are_apart(a.percent, a.rounding, b.percent, b.rounding)


def _disagreement(configuration: str, unequal: dict[Scored, list[Cell]]) -> Finding:
    cells = list(chain.from_iterable(unequal.values()))
    subject = next((c for c in cells if _is_misquoted(c, cells)), cells[0])
    is_across, roles = len({c.paper.name for c in cells}) > 1, {c.role for c in cells}
    may_differ = is_across or {"cited", "rerun"} <= roles
    severity = "doubt" if may_differ and "ours" not in roles else "error"
    says = f"{configuration} has several values of {_measures(unequal)}"
    why = "; ".join(_definitions(unequal))
    against = "another paper" if is_across else "paper"
    id = f"values/{configuration}"
    return _finding(severity, subject.paper.name, id, cells, says, why, against)


def _finding(
    severity: str,
    paper: str,
    id: str,
    cells: Iterable[Cell],
    says: str,
    explanation: str = "",
    against: str = "another paper",
) -> Finding:
    places, values = zip(*printed(cells), strict=True)
    return Finding(severity, "values", against, paper, id, places, values, says, explanation)


def _is_misquoted(cell: Cell, cells: list[Cell]) -> bool:
    makers = (c for c in cells if c.role == "ours" and dataset_and_measure(c) == dataset_and_measure(cell))
    return any(numbers_differ(cell, maker) for maker in makers)


def _measures(by_measure: Iterable[Scored]) -> str:
    return " and ".join(f"{measure} on {dataset}" for dataset, measure in by_measure)


def _definitions(unequal: dict[Scored, list[Cell]]) -> list[str]:
    found = {name: {c.column.measure or "" for c in cells} for (_, name), cells in unequal.items()}
    several = ((name, " and ".join(sorted(each))) for name, each in found.items() if len(each) > 1)
    return sorted(f"{name} is defined as {definitions}" for name, definitions in several)


def namesakes(sources: list[Paper], notes: Notes) -> Findings:
    """Yield a note for each system name for which two papers print only different values of a measure."""
    values = grouped(((c.row.system, dataset_and_measure(c)), c) for c in _cells_of_others(sources))
    found = defaultdict[str, dict[Scored, list[Cell]]](dict)
    for (system, key), group in values.items():
        if cells := _unequal_cells(grouped((c.paper.name, c) for c in group), notes):
            found[system][key] = cells
    for system, by_measure in found.items():
        cells = list(chain.from_iterable(by_measure.values()))
        names = sorted({c.paper.name for c in cells})
        says = f"{', '.join(names)} have no common value of {system} for {_measures(by_measure)}"
        yield _finding("note", names[0], f"names/{system}", cells, says)


def _known_cells(sources: list[Paper]) -> Iterator[Cell]:
    cells = chain.from_iterable(map(numeric_cells, sources))
    return (c for c in cells if c.column.dataset and c.column.measure)


def _retrieval_cells(sources: list[Paper]) -> Iterator[Cell]:
    cells, kinds = _known_cells(sources), ("results", "retrieval")
    return (c for c in cells if (c.table.kind, c.column.kind) == kinds)


def scored_cells(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Yield the cells with a number, a dataset and a measure, except in columns with settings (``with``)."""
    for cell in cells:
        c = cell.column
        if cell.is_numeric and c.dataset and c.measure and not c.with_:
            yield cell


def _cells_of_others(sources: list[Paper]) -> Iterator[Cell]:
    return (c for c in scored_cells(_retrieval_cells(sources)) if c.role != "ours")


def _unequal_cells(by_paper: dict[str, list[Cell]], notes: Notes) -> list[Cell]:
    cells: dict[str, Cell] = {}
    for one, other in combinations(by_paper.values(), 2):
        common = {notes.configuration(c) for c in one} & {notes.configuration(c) for c in other}
        if not common and all(numbers_differ(a, b) for a, b in product(one, other)):
            cells |= {c.id: c for c in (*one, *other)}
    return list(cells.values())


Quotation = tuple[Cell, list[Cell]]


def quotations(sources: list[Paper], notes: Notes) -> Findings:
    """Yield a finding for each paper and system with values that differ from those of the system's own paper:
    a doubt if they are cited, a note if they were measured again."""
    quoted = defaultdict[tuple[str, str, str], list[Quotation]](list)
    for cell, makers in _quotations(sources, notes):
        how = "cited" if cell.role == "cited" else "measured again"
        quoted[cell.paper.name, cell.row.system, how].append((cell, makers))
    for key, pairs in quoted.items():
        if different := [p for p in pairs if all(numbers_differ(p[0], maker) for maker in p[1])]:
            yield _quotation_finding(*key, different, total=len(pairs))


def _quotations(sources: list[Paper], notes: Notes) -> Iterator[Quotation]:
    ours = [c for c in scored_cells(_retrieval_cells(sources)) if c.role == "ours"]
    own = grouped(((c.row.system, dataset_and_measure(c)), c) for c in ours)
    joined = {_configured(cell, notes) for cell in ours}
    for cell in _cells_of_others(sources):
        alike = own[cell.row.system, dataset_and_measure(cell)]
        makers = [c for c in alike if c.paper.name != cell.paper.name]
        if makers and _configured(cell, notes) not in joined:
            yield cell, makers


def _quotation_finding(paper: str, system: str, how: str, pairs: list[Quotation], *, total: int) -> Finding:
    cells = {c.id: c for cell, makers in pairs for c in (cell, *makers)}
    gaps = [min(abs(cell.percent - m.percent) for m in makers) for cell, makers in pairs]
    owners = " and ".join(sorted({m.paper.name for _, makers in pairs for m in makers}))
    verb = "differs" if len(pairs) == 1 else "differ"
    says = f"{len(pairs)} of {total} values of {system}, {how} by {paper}, {verb} from all those of {owners}"
    says += f", by up to {max(gaps).normalize():f} points"
    severity, end = ("doubt", "") if how == "cited" else ("note", "/again")
    return _finding(severity, paper, f"{paper}/quoted/{system}{end}", cells.values(), says)


def conventions(sources: list[Paper], notes: Notes) -> Findings:
    """Yield findings on equal numbers with unequal bold or marks in papers by mostly the same authors."""
    for one, other in combinations(sources, 2):
        authors = set(one.manifest.authors), set(other.manifest.authors)
        if 2 * len(set.intersection(*authors)) > max(map(len, authors)):
            pairs = list(_equal_cells(one, other, notes))
            bold = [pair for pair in pairs if _bold_differs(*pair)]
            of_marks = [pair for pair in pairs if pair[0].table.marks and pair[1].table.marks]
            marks = [(a, b) for a, b in of_marks if _meaning(a) != _meaning(b)]
            yield from _findings("note", "bold", bold, "the same number is bold in only one paper")
            yield from _findings("doubt", "mark", marks, "the same number has marks with different meanings")


def _equal_cells(one: Paper, other: Paper, notes: Notes) -> Iterator[tuple[Cell, Cell]]:
    known = grouped((_configured(c, notes), c) for c in _retrieval_cells([one]))
    for cell in _retrieval_cells([other]):
        for candidate in known[_configured(cell, notes)]:
            if not numbers_differ(candidate, cell):
                yield candidate, cell


def _bold_differs(one: Cell, other: Cell) -> bool:
    is_known = {one.table.bold, other.table.bold}.isdisjoint({"unknown", "none"})
    return is_known and one.printed.bold != other.printed.bold


def _meaning(cell: Cell) -> dict[str, tuple[str, ...]]:
    return {mark: tuple(sorted(cell.table.marks[mark].over)) for mark in cell.printed.marks}


def _differing_meanings(one: Cell, other: Cell) -> str:
    both = _meaning(one), _meaning(other)
    marks = [mark for mark in both[0] | both[1] if both[0].get(mark) != both[1].get(mark)]
    names = ((m, ", ".join(meanings.get(m, ())) or "nothing") for meanings in both for m in marks)
    return ": " + " and ".join(f"{mark} over {over}" for mark, over in names)


def _findings(severity: str, kind: str, pairs: list[tuple[Cell, Cell]], says: str) -> Findings:
    if pairs:
        cells = [cell for pair in pairs for cell in pair]
        one, other = (cell.paper.name for cell in pairs[0])
        meanings = "" if kind == "bold" else _differing_meanings(*pairs[0])
        fields = f"conventions/{one}/{other}/{kind}", tuple(c.id for c in cells), tuple(c.text for c in cells)
        yield Finding(severity, kind, "another paper", other, *fields, says + meanings)
