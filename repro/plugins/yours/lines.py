"""Prints runs and encoders of one's own: their rows in tables, their tests, and what they rest on."""

from collections.abc import Iterator

from repro.api.comparisons import ComparedCells
from repro.cli.printing import emit_csv, emit_json, say, show, table
from repro.plugins.yours.table import OwnRow, OwnTable, as_json, lines

LEFT = ("column", "row", "against", "by")  # of the table of tests, whose other columns are numbers
ALIKE = {"RMSE": "rmse", "tau": "kendall_union", "RBO": "rank_biased_overlap"}  # where one row is named
TESTS = "tests over queries: yours less the other (t: paired, two-sided; Holm over a row's tests in a column)"
DROP = ("permutation p, Holm", "permutation p", "by", "won/tied/lost", "t p", "its score", "d_z")


def show_yours(compared: ComparedCells, form: str, *, per_query: bool) -> None:
    """Print tables with rows of one's own, or the scores of their queries, in a format.

    Args:
        form: terminal, csv, json, latex or markdown.
        per_query: the scores of every query in place of the tables.
    """
    if per_query:
        scores = list(compared.scores_by_query())
        (emit_json if form == "json" else emit_csv)(scores)
    else:
        FORMS[form](compared)
    said = [s for own in compared.yours for row in own.rows for s in _sentences(row)]
    for sentence in dict.fromkeys([*said, *(s for own in compared.yours for s in own.left_out)]):
        say(sentence)


def _print_json(compared: ComparedCells) -> None:
    emit_json([line for own in compared.yours for line in as_json(own)])


def _print_csv(compared: ComparedCells) -> None:
    emit_csv([line for own in compared.yours for line in lines(own)])


def _print_latex(compared: ComparedCells) -> None:
    print(compared.to_latex())


def _print_tables(compared: ComparedCells) -> None:
    for own in compared.yours:
        _show_table(own)


def _print_markdown(compared: ComparedCells) -> None:
    from repro.verdicts.summary import cut_measures
    from repro.writers.grid import compared_grid
    from repro.writers.markdown import escaped
    from repro.writers.markdown import table as markdown_table
    from repro.writers.table_pages import overview

    for own in compared.yours:
        cuts = cut_measures(own.comparison.cells)
        lines = [
            *overview(compared_grid(own.comparison.cells), comparison=own.comparison),
            *([f"{escaped(cuts)}.\n"] if cuts else []),
        ]
        if tests := [test for row in own.rows for test in _tests(row, own)]:
            cells = [[escaped(text) for text in test.values()] for test in tests]
            lines += [f"{TESTS}:\n", *markdown_table(list(tests[0]), cells)]
        print("\n".join(lines))


def _show_table(own: OwnTable) -> None:
    from repro.writers.terminal import compared_table

    show(compared_table(own.comparison, own.comparison.cells))
    tests = [line for row in own.rows for line in _tests(row, own)]
    if tests:
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
            low, high = test["interval"] or (None, None)
            score, digits = rounded(test["value"], c.cell), 2 if c.cell.unit == "percent" else 4
            interval = "" if low is None else f" [{low:+.{digits}f}, {high:+.{digits}f}]"
            yield {
                "column": c.cell.column.id,
                **({"row": row.row.label} if len(own.rows) > 1 else {}),
                "yours": rounded(c.measured, c.cell),
                "against": f"{letters[test['over']]} {rows[test['over']].label}",
                "by": test["by"],
                "its score": f"({score})" if test["doubts"] else score,
                "difference [95 %]": f"{test['difference']:+.{digits}f}{interval}",
                "d_z": _number(test["effect_size"]),
                "t p": _number(test["p"]),
                "t p, Holm": _number(test["holm_student_p"]),
                "permutation p": _number(test["permutation_p"]),
                "permutation p, Holm": _number(test["holm_p"]),
                "won/tied/lost": "/".join(str(test[key]) for key in ("wins", "ties", "losses")),
                **{name: _number(test[key]) for name, key in ALIKE.items() if key in test},
            }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _sentences(row: OwnRow) -> list[str]:
    """Return what is to be said of a row: how it was read, against itself, where it has no number."""
    said = [f"{row.row.label}: {note}" for note in (*row.notes, *row.differing)]
    said += [f"{p.cell.column.id}, {p.cell.row.label}: {p}" for p in row.placed.values()]
    return said + list(row.left_out)


FORMS = {
    "terminal": _print_tables,
    "csv": _print_csv,
    "json": _print_json,
    "latex": _print_latex,
    "markdown": _print_markdown,
}
