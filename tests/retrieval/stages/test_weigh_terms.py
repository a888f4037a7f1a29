from collections import Counter

import pytest
import torch

from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.nn.checkpoint import save_model
from repro.retrieval.stages.weigh_terms import frequencies, repeated, run
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

HOW = {"length": 16, "scale": 100, "precision": "fp32"}
SPECIAL = ["[CLS]", "[SEP]", "[PAD]"]


def term_weigher():
    """A model that gives a token a weight, most of them well above zero."""
    from transformers import BertForTokenClassification

    config = tiny_masked_lm(dropout=0.0).config
    config.num_labels = 1
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = BertForTokenClassification(config)
    with torch.no_grad():
        model.classifier.bias.fill_(0.05)
    return model


@pytest.mark.parametrize(
    "weighed, counts",
    [
        ([("[CLS]", 0.9), ("river", 0.204), ("bridge", 0.018), ("[SEP]", 0.9)], {"river": 20, "bridge": 2}),
        ([("river", 0.1), ("##s", 0.9)], {"rivers": 10}),  # a word has the weight of its first piece
        ([("the", 0.3), ("river", 0.05), ("the", 0.1)], {"the": 30, "river": 5}),
        ([("the", 0.004), ("river", -0.2)], {}),
    ],
)
def test_a_word_stands_as_often_as_its_weight_says(weighed, counts):
    assert frequencies(weighed, scale=100, special=SPECIAL) == counts
    assert Counter(repeated(counts).split()) == counts


def test_every_document_has_the_weights_that_the_model_gives_its_words(tmp_path, corpus, progress):
    model, tokenizer = term_weigher().eval(), tiny_tokenizer()
    save_model(model, tokenizer, tmp_path / "weigher/model")
    facts = run(HOW, {"model": tmp_path / "weigher", "corpus": corpus}, tmp_path / "out", progress)
    before, after = read_rows(corpus), read_rows(tmp_path / "out")
    assert facts == {"documents": len(before)} and after["id"] == before["id"]
    for row in range(5):
        inputs = tokenizer(before[row]["text"], truncation=True, max_length=16, return_tensors="pt")
        with torch.no_grad():
            row_weights = model(**inputs).logits[0, :, 0].tolist()
        tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
        wanted = frequencies(list(zip(tokens, row_weights, strict=True)), scale=100, special=SPECIAL)
        assert Counter(after[row]["text"].split()) == Counter(wanted) and wanted
