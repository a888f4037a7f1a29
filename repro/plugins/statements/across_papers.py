"""Differences between papers in values, bold numbers and marks, e.g. .187 and .184 for the same run."""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product, starmap

from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.papers import Paper
from repro.manifest.printed import are_apart
from repro.plugins.statements.findings import Finding, Notes, printed

Scored = tuple[str, str]  # dataset, measure
_SUCCESS = "Success@"  # printed as recall and nearly equal to it on these sets


def disagreements(sources: list[Paper], notes: Notes) -> Iterator[Finding]:
    """Yield a finding for every configuration with incompatible values of one measure."""
    configurations: dict[str, dict[Scored, list[Cell]]] = {}
    for source in sources:
        for cell in numeric_cells(source):
            if cell.column.dataset and cell.column.measure:
                cells_by_measure = configurations.setdefault(notes.configuration(cell), {})
                cells_by_measure.setdefault(dataset_and_measure(cell), []).append(cell)
    for name, by_measure in configurations.items():
        contradictions = {
            key: cells
            for key, cells in by_measure.items()
            if any(starmap(numbers_differ, combinations(cells, 2)))
        }
        if contradictions:
            yield _disagreement(name, contradictions)


def dataset_and_measure(cell: Cell) -> Scored:
    """Return the dataset and measure of a cell, with Success@k as R@k."""
    return cell.column.dataset or "", (cell.column.measure or "").replace(_SUCCESS, "R@")


def numbers_differ(a: Cell, b: Cell) -> bool:
    """Return whether two published numbers cannot be equal before rounding."""
    return are_apart(a.percent, a.rounding, b.percent, b.rounding)


def _disagreement(configuration: str, contradictions: dict[Scored, list[Cell]]) -> Finding:
    """Return an error if a system's makers or only one paper are involved, otherwise a doubt."""
    cells = list(chain.from_iterable(contradictions.values()))
    subject = next((c for c in cells if _is_misquoted(c, cells)), cells[0])
    has_several_papers, roles = len({c.paper.name for c in cells}) > 1, {c.role for c in cells}
    may_differ = has_several_papers or {"cited", "rerun"} <= roles
    places, values = zip(*printed(cells), strict=True)
    return Finding(
        "doubt" if may_differ and "ours" not in roles else "error",
        "values",
        "another paper" if has_several_papers else "paper",
        subject.paper.name,
        f"values/{configuration}",
        places,
        values,
        f"{configuration} has several values of {_measures(contradictions)}",
        "; ".join(_definitions(contradictions)),
    )


def _is_misquoted(cell: Cell, cells: list[Cell]) -> bool:
    makers = (c for c in cells if c.role == "ours" and dataset_and_measure(c) == dataset_and_measure(cell))
    return any(numbers_differ(cell, maker) for maker in makers)


def _measures(by_measure: Iterable[Scored]) -> str:
    return " and ".join(f"{measure} on {dataset}" for dataset, measure in by_measure)


def _definitions(contradictions: dict[Scored, list[Cell]]) -> list[str]:
    names = {
        name: sorted({c.column.measure or "" for c in cells}) for (_, name), cells in contradictions.items()
    }
    return sorted(
        f"{name} is defined as {' and '.join(each)}" for name, each in names.items() if len(each) > 1
    )


Spellings = dict[Scored, dict[str, list[Cell]]]


def namesakes(sources: list[Paper], notes: Notes) -> Iterator[Finding]:
    """Yield a note for every system name in several papers that share no value of it."""
    by_system: dict[str, Spellings] = {}
    for cell in _cells_of_others(sources):
        cells_by_paper = by_system.setdefault(cell.row.system, {}).setdefault(dataset_and_measure(cell), {})
        cells_by_paper.setdefault(cell.paper.name, []).append(cell)
    for system, values in by_system.items():
        differences = {
            key: cells for key, by_paper in values.items() if (cells := _unequal_cells(by_paper, notes))
        }
        if differences:
            yield _namesake_finding(system, differences)


def _retrieval_cells(sources: list[Paper]) -> Iterator[Cell]:
    for source in sources:
        for cell in numeric_cells(source):
            kinds = cell.table.kind, cell.column.kind
            if kinds == ("results", "retrieval") and cell.column.dataset and cell.column.measure:
                yield cell


def scored_cells(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Yield the numbers with a dataset and a measure, except in columns with ``with``."""
    for cell in cells:
        column = cell.column
        if cell.is_numeric and column.dataset and column.measure and not column.with_:
            yield cell


def _cells_of_others(sources: list[Paper]) -> Iterator[Cell]:
    return (cell for cell in scored_cells(_retrieval_cells(sources)) if cell.role != "ours")


def _unequal_cells(by_paper: dict[str, list[Cell]], notes: Notes) -> list[Cell]:
    cells: dict[str, Cell] = {}
    for one, other in combinations(by_paper.values(), 2):
        common_names = {notes.configuration(c) for c in one} & {notes.configuration(c) for c in other}
        if not common_names and all(numbers_differ(a, b) for a, b in product(one, other)):
            cells |= {c.id: c for c in (*one, *other)}
    return list(cells.values())


def _namesake_finding(system: str, differences: dict[Scored, list[Cell]]) -> Finding:
    cells = list(chain.from_iterable(differences.values()))
    papers = sorted({c.paper.name for c in cells})
    says = f"{', '.join(papers)} have no common value of {system} for {_measures(differences)}"
    places, values = zip(*printed(cells), strict=True)
    return Finding("note", "values", "another paper", papers[0], f"names/{system}", places, values, says)


Quotation = tuple[Cell, list[Cell]]


def quotations(sources: list[Paper], notes: Notes) -> Iterator[Finding]:
    """Yield findings on values unlike those of a system's makers: doubts if cited, notes if remeasured."""
    quoted: dict[tuple[str, str, str], list[Quotation]] = {}
    for cell, makers in _quotations(sources, notes):
        how = "cited" if cell.role == "cited" else "measured again"
        quoted.setdefault((cell.paper.name, cell.row.system, how), []).append((cell, makers))
    for key, pairs in quoted.items():
        if different := [p for p in pairs if all(numbers_differ(p[0], maker) for maker in p[1])]:
            yield _quotation_finding(*key, different, total=len(pairs))


def _quotations(sources: list[Paper], notes: Notes) -> Iterator[Quotation]:
    own: dict[tuple[str, Scored], list[Cell]] = {}
    makers_cells = [cell for cell in scored_cells(_retrieval_cells(sources)) if cell.role == "ours"]
    for cell in makers_cells:
        own.setdefault((cell.row.system, dataset_and_measure(cell)), []).append(cell)
    joined = {(notes.configuration(cell), dataset_and_measure(cell)) for cell in makers_cells}
    for cell in _cells_of_others(sources):
        named_alike = own.get((cell.row.system, dataset_and_measure(cell)), [])
        makers = [c for c in named_alike if c.paper.name != cell.paper.name]
        if makers and (notes.configuration(cell), dataset_and_measure(cell)) not in joined:
            yield cell, makers


def _quotation_finding(paper: str, system: str, how: str, pairs: list[Quotation], *, total: int) -> Finding:
    cells = {c.id: c for cell, makers in pairs for c in (cell, *makers)}
    gaps = [min(abs(cell.percent - m.percent) for m in makers) for cell, makers in pairs]
    owners = " and ".join(sorted({m.paper.name for _, makers in pairs for m in makers}))
    verb = "differs" if len(pairs) == 1 else "differ"
    says = f"{len(pairs)} of {total} values of {system}, {how} by {paper}, {verb} from all those of {owners}"
    says += f", by up to {max(gaps).normalize():f} points"
    severity, end = ("doubt", "") if how == "cited" else ("note", "/again")
    fields = f"{paper}/quoted/{system}{end}", tuple(cells), tuple(c.printed.plain for c in cells.values())
    return Finding(severity, "values", "another paper", paper, *fields, says)


def conventions(sources: list[Paper], notes: Notes) -> Iterator[Finding]:
    """Yield findings on equal numbers with different bold or marks, in papers that share most authors."""
    for one, other in combinations(sources, 2):
        authors = set(one.manifest.authors), set(other.manifest.authors)
        if 2 * len(set.intersection(*authors)) > max(map(len, authors)):
            pairs = list(_equal_cells(one, other, notes))
            bold = [pair for pair in pairs if _bold_differs(*pair)]
            marks = [
                (a, b) for a, b in pairs if a.table.marks and b.table.marks and _meaning(a) != _meaning(b)
            ]
            yield from _findings("note", "bold", bold, "the same number is bold in only one paper")
            yield from _findings("doubt", "mark", marks, "the same number has marks with different meanings")


def _equal_cells(one: Paper, other: Paper, notes: Notes) -> Iterator[tuple[Cell, Cell]]:
    candidates: dict[tuple, list[Cell]] = {}
    for cell in _retrieval_cells([one]):
        candidates.setdefault((notes.configuration(cell), dataset_and_measure(cell)), []).append(cell)
    for cell in _retrieval_cells([other]):
        for candidate in candidates.get((notes.configuration(cell), dataset_and_measure(cell)), ()):
            if not numbers_differ(candidate, cell):
                yield candidate, cell


def _bold_differs(one: Cell, other: Cell) -> bool:
    is_known = {one.table.bold, other.table.bold}.isdisjoint({"unknown", "none"})
    return is_known and one.printed.bold != other.printed.bold


def _meaning(cell: Cell) -> dict[str, tuple[str, ...]]:
    return {mark: tuple(sorted(cell.table.marks[mark].over)) for mark in cell.printed.marks}


def _differing_meanings(one: Cell, other: Cell) -> str:
    first, second = _meaning(one), _meaning(other)
    marks = [mark for mark in {**first, **second} if first.get(mark) != second.get(mark)]
    phrases = [
        f"{m} over {', '.join(meanings.get(m, ())) or 'nothing'}"
        for meanings in (first, second)
        for m in marks
    ]
    return f": {' and '.join(phrases)}"


def _findings(severity: str, kind: str, pairs: list[tuple[Cell, Cell]], says: str) -> Iterator[Finding]:
    if pairs:
        cells = [cell for pair in pairs for cell in pair]
        one, other = (cell.paper.name for cell in pairs[0])
        meanings = "" if kind == "bold" else _differing_meanings(*pairs[0])
        fields = f"conventions/{one}/{other}/{kind}", tuple(c.id for c in cells), tuple(c.text for c in cells)
        yield Finding(severity, kind, "another paper", other, *fields, says + meanings)
