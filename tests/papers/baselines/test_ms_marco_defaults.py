from __future__ import annotations

import pytest

from papers.baselines.recipes import bm25
from papers.baselines.released import retriever
from papers.baselines.two_stage import TITLED, marco_passages
from repro.manifest.papers import paper as read_paper
from repro.retrieval.nn.text import passage_rows
from repro.retrieval.recipe.request import Choices, Request
from repro.retrieval.stages.sample import places
from repro.running.recipe_calls import readings_for
from tests.tiny_models import tiny_tokenizer

TREC = "msmarco-document/trec-dl-2019/judged"


def choices(paper: str, **given) -> Choices:
    return Choices(readings_for(read_paper(paper), "papers.baselines.recipes:bm25"), **given)


@pytest.mark.parametrize("paper", ["costa", "cpdae"])
@pytest.mark.parametrize(("dataset", "k1", "b"), [("msmarco-document/dev", 4.46, 0.82), (TREC, 0.9, 0.4)])
def test_bm25_on_documents_has_the_setting_that_gives_the_published_column(paper, dataset, k1, b):
    node = bm25(Request(dataset, choices(paper)), document_parameters="bm25-document-parameters")
    assert (node.params["k1"], node.params["b"]) == (k1, b)


@pytest.mark.parametrize("paper", ["simlm", "cotmae_v2"])
@pytest.mark.parametrize(
    ("dataset", "k1", "b"), [("dev/small", 0.82, 0.68), ("trec-dl-2020/judged", 0.9, 0.4)]
)
def test_bm25_on_passages_is_tuned_for_dev_and_plain_for_trec(paper, dataset, k1, b):
    node = bm25(Request(f"msmarco-passage/{dataset}", choices(paper)))
    assert (node.params["k1"], node.params["b"]) == (k1, b)


@pytest.mark.parametrize(("dataset", "length"), [("dev/small", 128), ("trec-dl-2019/judged", 144)])
def test_cocondenser_reads_passages_as_those_did_who_ran_it_for_the_column(dataset, length):
    request = Request(f"msmarco-passage/{dataset}", choices("simlm", originals_only=True))
    run = retriever(request, system="cocondenser", read="cocondenser-conventions")
    assert run.inputs["passages"].params["length"] == length


@pytest.mark.parametrize("paper", ["costa", "cpdae"])
def test_few_queries_are_drawn_at_random_and_three_times_anew(paper):
    how = choices(paper).value("low-resource-sample")
    drawn = [places(10_000, queries=100, sample=sample, **how) for sample in range(3)]
    assert how["method"] == "random" and all(len(one) == 100 for one in drawn)
    assert (
        len({place for one in drawn for place in one}) > 290
    )  # nor a block: two blocks share all or nothing
    assert max(max(one) - min(one) for one in drawn) > 9000


@pytest.mark.parametrize("paper", ["costa", "cpdae", "cotmae_v2", "simlm"])
def test_a_passage_without_a_title_keeps_the_separator_before_its_text(paper, tmp_path):
    titles = tmp_path / TITLED
    titles.mkdir(parents=True)
    (titles / "corpus.jsonl").write_text("")
    request = Request("msmarco-passage/dev/small", choices(paper, data=tmp_path))
    untitled = marco_passages(request).params["untitled"]
    tokenizer = tiny_tokenizer()
    for separator in ("[SEP]", "pair"):
        inputs = passage_rows(tokenizer, [untitled], ["the king"], length=16, separator=separator).inputs()
        tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
        assert tokens == ["[CLS]", "[SEP]", "the", "king", "[SEP]"]
