"""What holds for every paper's claims.yaml: a place, own words, and cells that exist."""

import ast
import os
import re
from pathlib import Path

import pytest
import yaml

from repro.manifest.papers import papers
from repro.plugins.statements.places import Places
from tests.papers.statements import contradicted_in_print, runs, sentences

ROOT = Path(__file__).resolve().parents[2]
EVERY = sorted(name for name, source in papers().items() if (source.folder / "claims.yaml").exists())
PATH = re.compile(r"(?:\w+:)?[\w-]+(?:/[\w.-]+){1,2}")
RELATIONS = {"above", "not_below"}
BESIDE_ROWS = RELATIONS | {"every", "best", "best_or_tied", "best_count", "tied_count", "rank", "argbest"}
BESIDE_ROWS |= {"same_order", "significantly_above", "student"}


def _judged(name):
    """The claims that cells can confirm."""
    return [claim for claim in sentences(name) if claim.expect]


def _tree(claim):
    return ast.parse(" ".join(claim.expect.split()), mode="eval")


def _calls(claim):
    return [(node.func.id, node) for node in ast.walk(_tree(claim)) if isinstance(node, ast.Call)]


def _strings(node, into_calls=True):
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Call) and not into_calls:
        return []
    return [s for child in ast.iter_child_nodes(node) for s in _strings(child, into_calls)]


def _paths(claim):
    """The rows and cells that an expression names; what is drawn is neither."""
    drawn = {s for f, call in _calls(claim) if f == "drawn" for s in _strings(call)}
    return [s for s in _strings(_tree(claim)) if PATH.fullmatch(s) and s not in drawn]


def _tables(claim):
    """The tables an expression uses, other papers' excepted."""
    listed = ("rows", "columns", "relevant")
    named = {t for f, call in _calls(claim) if f in listed for t in _strings(call.args[0])}
    return {t for t in named | {p.split("/")[0] for p in _paths(claim)} if ":" not in t}


def _paper_text(name):
    folder = Path(os.environ.get("REPRO_TEST_PAPERS", ROOT.parent / "shared" / "papers"))
    path = folder / f"{name}.txt"
    if not path.exists():
        pytest.skip(f"{path} is not there; REPRO_TEST_PAPERS may name another folder")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EVERY)
def test_ids_are_unique_and_every_claim_says_where_it_stands_and_what_it_expects(name):
    listed = yaml.safe_load((papers()[name].folder / "claims.yaml").read_text(encoding="utf-8"))["claims"]
    assert len({c["id"] for c in listed}) == len(listed) > 0
    for claim in sentences(name):
        assert claim.where.strip() and claim.says.strip(), claim.id


@pytest.mark.parametrize("name", EVERY)
def test_print_contradicts_only_claims_whose_note_says_how(name):
    failing, notes = contradicted_in_print(name), {c.id: c.note for c in sentences(name)}
    assert all(notes[claim] for claim in failing)
    assert {claim for claim, note in notes.items() if note.startswith("fails")} <= failing


@pytest.mark.parametrize("name", EVERY)
def test_every_path_names_a_row_or_cell_that_exists(name):
    places = Places(papers()[name])
    for claim in _judged(name):
        paths = _paths(claim)
        for path in paths:
            if path.count("/") == 2:
                places.cell(path)
            else:
                assert path in places.rows(path.split("/")[0]), (claim.id, path)
        assert paths or {f for f, _ in _calls(claim)} & {"drawn", "relevant"}, claim.id


@pytest.mark.parametrize("name", EVERY)
def test_every_column_named_beside_a_row_is_one_of_its_table(name):
    places = Places(papers()[name])
    for claim in _judged(name):
        for function, call in _calls(claim):
            if function in BESIDE_ROWS:
                strings = [s for argument in call.args for s in _strings(argument, into_calls=False)]
                rows = [s for s in strings if s.count("/") == 1]
                columns = [s for s in strings if "/" not in s and s not in RELATIONS]
                for row in rows:
                    assert set(columns) <= set(places.columns(row.split("/")[0])), (claim.id, row, columns)


@pytest.mark.parametrize("name", EVERY)
def test_about_lists_the_tables_whose_cells_are_used(name):
    for claim in _judged(name):
        assert _tables(claim) == set(claim.about), claim.id


@pytest.mark.parametrize("name", EVERY)
def test_no_claim_is_in_the_papers_words(name):
    printed = runs(_paper_text(name))
    assert len(printed) > 3000
    for claim in sentences(name):
        assert not runs(claim.says) & printed, claim.id
        assert not runs(claim.note) & printed, claim.id
        assert not runs(claim.assumed) & printed, claim.id
        assert not runs(claim.beyond) & printed, claim.id
