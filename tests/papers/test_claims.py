"""Every paper's claims.yaml: places, own words, existing cells, and their truth in print."""

import ast
import re
from functools import cache

import pytest
import yaml

from repro.manifest.papers import papers
from repro.plugins.statements.claim_values import PublishedValues
from repro.plugins.statements.language import Places
from repro.plugins.statements.statements import statements
from tests.papers.statements import runs, sentences
from tests.papers.texts import texts_of
from tests.plugins.statements.made_up_values import MadeUp

EVERY = sorted(name for name, source in papers().items() if (source.folder / "claims.yaml").exists())
DEGREE = re.compile(r"\b(far|much|slight(ly)?|considerabl[ey]|substantial(ly)?|hardly|little|large)\b")
PATH = re.compile(r"(?:\w+:)?[\w-]+(?:/[\w.-]+){1,2}")
RELATIONS = {"above", "not_below"}
BESIDE_ROWS = RELATIONS | {
    "every",
    "best",
    "best_or_tied",
    "best_count",
    "same_order",
    "significantly_above",
    "student",
}
CONTRADICTED = {  # sentences that the papers' own tables contradict
    "costa": {
        "ablations-at-temperature-one",
        "above-all-baselines",
        "above-elaborate-fine-tuning",
        "dense-above-sparse",
        "every-granularity-helps",
        "little-gain-of-inverse-cloze",
        "longer-spans-matter-more-in-recall",
        "ndcg-gains-more-than-recall",
        "phrases-and-sentences-help",
        "prop-above-bert",
        "same-order-with-both-negatives",
        "seed-significantly-best-baseline",
        "significant-over-all-pre-trainings",
    },
    "cpdae": {
        "above-baselines-on-four-benchmarks",
        "above-other-pre-trained-models",
        "contrast-of-vectors-does-not-suit-documents",
        "distributions-above-vectors",
        "seed-best-baseline",
        "significant-over-marked-baselines",
        "three-improve-on-bert",
    },
    "cotmae_v2": {
        "best-distilled",
        "best-on-eleven-of-fourteen",
        "best-on-the-benchmarks",
        "considerable-gains",
        "every-view-contributes",
        "first-version-above-cocondenser",
        "half-size-far-above-earlier-ones",
    },
    "simlm": {
        "another-corpus-helps-considerably",
        "best-on-the-benchmarks",
        "cocondenser-is-state-of-the-art",
        "pre-training-helps-to-answer",
    },
    "retromae": {
        "auto-encoding-ahead",
        "bm25-negatives-by-1-48",
        "encoder-better-at-three-tenths",
        "generic-models-no-better-than-bert",
        "mined-negatives-by-1-42",
        "more-layers-gain-nothing",
    },
}
SENTENCES = {"costa": 30, "cpdae": 17, "cotmae_v2": 36, "simlm": 47, "retromae": 25}
UNTESTED_OF_COSTA = {
    "above-bm25-with-two-thousand-queries",
    "above-seed-with-few-queries",
    "below-bm25-on-trec-with-few-queries",
    "bm25-negatives-harm-documents",
    "loss-falls-slowly-with-many-spans",
    "relevant-passages-nearer",
    "seed-scatters-relevant-passages",
    "word-sets-help-more-in-re-ranking",
}


@cache
def _in_print(name, kind="claim"):
    source = papers()[name]
    places = Places(source)
    found = [s for s in statements(source) if s.kind == kind]
    ids = [s.id.removeprefix(f"{name}/").removeprefix("claim/") for s in found]
    return {i: s.judge(PublishedValues(), places) for i, s in zip(ids, found, strict=True)}


def _judged(name):
    return [claim for claim in sentences(name) if claim.expect]


def _tree(claim):
    return ast.parse(" ".join(claim.expect.split()), mode="eval")


def _calls(claim):
    return [(n.func.id, n) for n in ast.walk(_tree(claim)) if isinstance(n, ast.Call)]


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
    listed = ("rows", "columns", "relevant")
    named = {t for f, call in _calls(claim) if f in listed for t in _strings(call.args[0])}
    return {t for t in named | {p.split("/")[0] for p in _paths(claim)} if ":" not in t}


@pytest.mark.parametrize("name", EVERY)
def test_ids_are_unique_and_every_claim_says_where_it_stands_and_what_it_expects(name):
    listed = yaml.safe_load((papers()[name].folder / "claims.yaml").read_text(encoding="utf-8"))["claims"]
    assert len({c["id"] for c in listed}) == len(listed) > 0
    for claim in sentences(name):
        assert claim.where.strip() and claim.says.strip(), claim.id


@pytest.mark.parametrize("name", EVERY)
def test_print_contradicts_these_claims_and_their_notes_say_how(name):
    judged, notes = _in_print(name), {c.id: c.note for c in sentences(name)}
    known = CONTRADICTED.get(name, set())
    assert len(judged) == len(notes) >= SENTENCES.get(name, 1)
    assert {claim for claim, judgement in judged.items() if judgement.state == "fails"} == known
    assert all(notes[claim] for claim in known)
    assert {claim for claim, note in notes.items() if note.startswith("fails")} <= known


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
def test_a_word_of_degree_is_held_against_a_number_and_not_against_an_order_alone(name):
    for claim in filter(lambda claim: DEGREE.search(claim.says), _judged(name)):
        bounds = [n for n in ast.walk(_tree(claim)) if isinstance(n, ast.Compare)]
        assert bounds or {"about", "rounds"} & {f for f, _ in _calls(claim)}, claim.id


@pytest.mark.parametrize("name", EVERY)
def test_no_claim_is_in_the_papers_words(name):
    printed = runs(texts_of(name)[name])
    assert len(printed) > 3000
    for claim in sentences(name):
        for text in (claim.says, claim.note, claim.assumed, claim.beyond):
            assert not runs(text) & printed, claim.id


@pytest.mark.parametrize("name", EVERY)
def test_every_mark_is_above_the_rows_it_names_and_bold_numbers_are_the_best_but_for_one(name):
    marks = _in_print(name, "mark")
    assert {judged.state for judged in marks.values()} <= {"holds"}
    assert name != "costa" or len(marks) == 58
    wrong = {
        place: judged.why for place, judged in _in_print(name, "bold").items() if judged.state != "holds"
    }
    assert list(wrong) == (["4/bold/base/dev.r1000"] if name == "costa" else [])
    assert name != "costa" or "0.952 vs. 4/without-phrase/dev.r1000 0.953" in wrong["4/bold/base/dev.r1000"]


def test_what_has_no_numbers_in_print_is_untested():
    assert {c for c, judged in _in_print("costa").items() if judged.state == "untested"} == UNTESTED_OF_COSTA
    significant = _in_print("cpdae")["contrast-helps-significantly"]
    assert significant.state == "untested" and "no mark of table 2" in significant.why
    assert _in_print("cpdae")["significant-over-other-baselines"].state == "untested"
    beyond = {claim.id for claim in sentences("simlm") if claim.beyond}
    assert {"frozen-generator-trains-faster", "another-round-of-mining-adds-nothing"} <= beyond
    assert "no-retriever-without-labels" in beyond


def test_no_claim_holds_whatever_the_published_numbers_are():
    fixed = {c for name in EVERY for c, judged in _in_print(name).items() if judged.state == "not judgeable"}
    assert fixed == {"examples-go-wrong-and-right", "bert-misses-what-is-asked"}


def test_the_order_of_systems_is_that_of_both_negatives_in_mrr_alone():
    judged = _in_print("costa")["same-order-with-both-negatives"]
    assert dict(judged.measures) == {
        "1/dev.rr10": "holds",
        "1/dev.r1000": "fails",
        "1/dl19.ndcg10": "fails",
        "1/dl19.r1000": "fails",
    }
    turned = [reason for reason in judged.why.split("; ") if ", but " in reason]
    assert len(turned) == 12
    for column in ("dev.r1000", "dl19.ndcg10"):
        assert sum(f"/{column} " in reason for reason in turned) == 5


def test_what_is_said_of_numbers_is_judged_by_those_of_the_tables():
    judged = _in_print("costa")
    assert judged["seven-percent-over-seed"].why == "7.0175; 6.5657"  # 0.366 / 0.342 and 0.422 / 0.396
    assert [m for m, state in judged["above-all-baselines"].measures if state == "fails"] == ["2/dl19.r100"]


@pytest.mark.parametrize(
    ("second", "first", "state", "p"),
    [
        ((41.4, 41.1, 41.6, 41.2), (39.4, 39.9, 39.1, 39.6), "holds", "p 0.000"),
        ((41.4, 38.1, 41.6, 37.2), (39.4, 39.9, 39.1, 39.6), "fails", "p 0.9"),
    ],
)
def test_the_statistical_statement_of_figure_3_is_judged_by_students_test_over_seeds(second, first, state, p):
    measures, seeds = ("dev.rr10", "dev.r50", "dev.r1000"), (42, 43, 2022, 2023)
    numbers = {
        f"{version}.{seed}/{measure}": value
        for version, values in (("cotmae_v2", second), ("cotmae", first))
        for seed, value in zip(seeds, values, strict=True)
        for measure in measures
    }
    every = statements(papers()["cotmae_v2"])
    [claim] = [s for s in every if s.id.endswith("/significant-over-the-first-version")]
    judged = claim.judge(MadeUp(numbers))
    assert judged.state == state and p in judged.test and len(judged.measures) == 3
