"""Every pointer of every text is in references.yaml."""

from collections import Counter

import pytest

from repro.manifest.papers import papers
from repro.plugins.statements.claims import claims_of
from repro.plugins.statements.findings import notes, notes_of
from repro.plugins.statements.paper_audit import each, findings_of
from repro.plugins.statements.references import references_of
from tests.papers.pointers import body, names, numbers, parts, trained_on_evaluation_sets
from tests.papers.statements import runs
from tests.papers.texts import texts_of

EVERY = sorted(name for name, source in papers().items() if (source.folder / "references.yaml").exists())
NUMBERED = {"costa", "cpdae"}
TRAINED_ON_EVALUATION_SETS = {  # sentences, and the words of audit.yaml that tell them
    "costa": (5, {"test-sets-called-training-data", "dev-for-training-queries"}),
    "cpdae": (2, {"evaluation-sets-called-training-data"}),
}


def _of(name):
    return references_of(papers()[name])


def _text(name):
    return body(texts_of(name)[name])


def test_every_paper_whose_text_is_at_hand_has_its_references():
    claiming = {name for name, source in papers().items() if claims_of(source)}
    assert claiming == {*EVERY, "retromae"}


@pytest.mark.parametrize("name", EVERY)
def test_every_pointer_of_the_text_is_listed_as_often_as_it_stands_there(name):
    text = _text(name)
    there = parts(text) + (numbers(text) if name in NUMBERED else names(text))
    assert Counter(target for pointer in _of(name).pointers for target in pointer.targets) == there


@pytest.mark.parametrize("name", EVERY)
def test_a_pointer_that_means_a_work_by_name_is_right_where_it_points_at_that_work(name):
    known = _of(name)
    named = {work.work for work in known.works.values()}
    for pointer in known.pointers:
        works = {known.works[target].work for target in pointer.targets if target in known.works}
        if pointer.as_ in named and works:
            assert (pointer.as_ in works) == (pointer.verdict == "right"), pointer


@pytest.mark.parametrize(
    ("name", "pointers", "right"),
    [("costa", 135, 114), ("cpdae", 66, 57), ("cotmae_v2", 181, 168), ("simlm", 120, 118)],
)
def test_the_verdicts_are_counted(name, pointers, right):
    verdicts = Counter(pointer.verdict for pointer in _of(name).pointers for _ in pointer.targets)
    assert verdicts.total() == pointers and verdicts["right"] == right


def test_each_fault_is_one_finding_or_a_reading():
    findings = {f.id: f for f in each(list(papers().values()), notes())}
    for name in EVERY:
        for pointer in _of(name).pointers:
            if pointer.verdict != "right":
                to = ", ".join(pointer.targets)
                told = [
                    f for i, f in findings.items() if i == f"{name}/reference/{pointer.at}/{to}/{pointer.as_}"
                ]
                assert len(told) == (not pointer.reading), pointer


@pytest.mark.parametrize(
    ("identifier", "severity", "words"),
    [
        ("costa/work/12", "error", "second time"),
        ("costa/reference/§5.5/14/fine-tuning on samples of the training queries", "error", "SimCSE"),
        ("simlm/work/Craswell+ 2020b", "error", "of the overview of 2019"),
        ("cotmae_v2/work/Craswell+ 2020b", "error", "of the overview of 2019"),
        (
            "cpdae/reference/§2/§4.2/such methods (SimCSE, COSTA, Sentence-BERT) do not suit documents",
            "error",
            "alone",
        ),
        ("simlm/reference/App. A/§4.1/hyper-parameters of fine-tuning BERT and RoBERTa", "error", "Table 13"),
        ("cotmae_v2/reference/§1/Liu & Shao 2022/auto-regressive decoders", "error", "§2.1"),
    ],
)
def test_a_known_fault_of_the_references_is_found(identifier, severity, words):
    [finding] = [f for f in findings_of(list(papers().values())) if f.id == identifier]
    assert finding.severity == severity and words in finding.says and finding.kind == "reference"


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_said_in_the_papers_words(name):
    printed = runs(_text(name))
    assert len(printed) > 3000
    known = _of(name)
    said = [text for p in known.pointers for text in (p.as_, p.why)]
    said += [text for w in known.works.values() for text in (w.why, w.note)]
    said += [word.says for word in notes_of(papers()[name]).wording]
    assert not [text for text in said if runs(text) & printed]


@pytest.mark.parametrize("name", EVERY)
def test_every_sentence_that_trains_on_an_evaluation_set_is_told(name):
    count, words = TRAINED_ON_EVALUATION_SETS.get(name, (0, set()))
    assert len(trained_on_evaluation_sets(_text(name))) == count
    assert words <= {word.id for word in notes_of(papers()[name]).wording}


def test_a_sentence_that_evaluates_is_none_that_trains_on_an_evaluation_set():
    one = "We fine-tune it on four sets, among them TREC 2019."
    assert trained_on_evaluation_sets(f"{one} It is trained once and evaluated on TREC 2019.") == [one]
