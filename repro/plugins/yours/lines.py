"""Shows runs and encoders of one's own in tables and tests, and keeps runs beside measurements."""

from collections.abc import Iterator, Sequence

from repro.cli.printing import emit_csv, emit_json, say, show, table
from repro.errors import UsageError
from repro.exchange.run_import import Importer, Origin
from repro.plugins.yours.compared_with_yours import ComparedWithYours
from repro.plugins.yours.table import OwnRow, OwnTable, as_json, lines
from repro.store import make_writable

LEFT = ("column", "row", "against", "by")  # of the table of tests, whose other columns are numbers
ALIKE = {"RMSE": "rmse", "tau": "kendall_union", "RBO": "rank_biased_overlap"}  # where one row is named
TESTS = "tests over queries: yours less the other (t: paired, two-sided; Holm over a row's tests in a column)"
DROP = ("permutation p, Holm", "permutation p", "by", "won/tied/lost", "t p", "its score", "d_z")


def show_yours(compared: ComparedWithYours, form: str, *, per_query: bool) -> None:
    """Print tables with rows of one's own, or the scores ``per_query``, as terminal, csv, json, latex or
    markdown."""
    if per_query:
        scores = list(compared.scores_by_query())
        (emit_json if form == "json" else emit_csv)(scores)
    elif form == "json":
        emit_json([line for own in compared.yours for line in as_json(own)])
    elif form == "csv":
        emit_csv([line for own in compared.yours for line in lines(own)])
    elif form == "latex":
        print(compared.to_latex())
    else:
        for own in compared.yours:
            (_print_markdown if form == "markdown" else _show_table)(own)
    said = [s for own in compared.yours for row in own.rows for s in _sentences(row)]
    for sentence in dict.fromkeys([*said, *(s for own in compared.yours for s in own.left_out)]):
        say(sentence)


def _print_markdown(own: OwnTable) -> None:
    from repro.verdicts.summary import cut_measures
    from repro.writers.grid import compared_grid
    from repro.writers.markdown import escaped
    from repro.writers.markdown import table as markdown_table
    from repro.writers.table_pages import overview

    page = list(overview(compared_grid(own.comparison.cells), comparison=own.comparison))
    if cuts := cut_measures(own.comparison.cells):
        page.append(f"{escaped(cuts)}.\n")
    if tests := [test for row in own.rows for test in _tests(row, own)]:
        cells = [[escaped(text) for text in test.values()] for test in tests]
        page += [f"{TESTS}:\n", *markdown_table(list(tests[0]), cells)]
    print("\n".join(page))


def _show_table(own: OwnTable) -> None:
    from repro.writers.terminal import compared_table

    show(compared_table(own.comparison, own.comparison.cells))
    if tests := [line for row in own.rows for line in _tests(row, own)]:
        head = list(tests[0])
        right = [place for place, name in enumerate(head) if name not in LEFT]
        rows = [list(test.values()) for test in tests]
        table(TESTS, head, rows, right=right, drop=[head.index(name) for name in DROP])


def _tests(row: OwnRow, own: OwnTable) -> Iterator[dict[str, str]]:
    """Yield the tests of a row as lines of a table."""
    from repro.writers.grid import compared_grid, rounded

    letters = compared_grid(own.comparison.cells).letters
    rows = {r.id: r for r in own.comparison.cells[0].cell.table.rows}
    for c in row.cells:
        for test in row.tests.get(c.cell.column.id, []):
            score, digits = rounded(test["value"], c.cell), 2 if c.cell.unit == "percent" else 4
            bounds = " [{:+.{d}f}, {:+.{d}f}]".format(*test["interval"], d=digits) if test["interval"] else ""
            yield {
                "column": c.cell.column.id,
                **({"row": row.row.label} if len(own.rows) > 1 else {}),
                "yours": rounded(c.records[0].measured, c.cell),
                "against": f"{letters[test['over']]} {rows[test['over']].label}",
                "by": test["by"],
                "its score": f"({score})" if test["doubts"] else score,
                "difference [95 %]": f"{test['difference']:+.{digits}f}{bounds}",
                "d_z": _number(test["effect_size"]),
                "t p": _number(test["p"]),
                "t p, Holm": _number(test["holm_student_p"]),
                "permutation p": _number(test["permutation_p"]),
                "permutation p, Holm": _number(test["holm_p"]),
                "won/tied/lost": f"{test['wins']}/{test['ties']}/{test['losses']}",
                **{name: _number(test[key]) for name, key in ALIKE.items() if key in test},
            }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _sentences(row: OwnRow) -> list[str]:
    return [*(f"{row.row.label}: {note}" for note in (*row.notes, *row.differing)), *row.left_out]


def record(tables: Sequence[OwnTable], importer: Importer) -> Iterator[tuple[str, int, int]]:
    """Record each run for the cells that it covers; yield label, new and all. Raises UsageError for several
    rows, or another scale than full."""
    cells = [c for own in tables for c in own.of_paper]
    if len({(c.cell.paper.name, c.cell.row.id) for c in cells}) != 1 or cells[0].scale != "full":
        raise UsageError("--record keeps a run of one row at full scale: name that row, as --row ROW")
    make_writable(importer.store.root)
    importer.results.make_writable()
    for row in (row for own in tables for row in own.rows):
        runs = {name: scored.run for name, scored in row.scored.items() if not scored.cut_at}
        new: list[bool] = []
        for run in {path for path in runs.values() if path}:
            covered = [c.cell for c in cells if runs.get(c.cell.column.id) == run]
            new += [item.new for item in importer.add(run, covered, origin=Origin())]
        yield row.row.label, sum(new), len(new)
