from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from papers.simlm.masks import Masks, TwiceMasked
from repro.retrieval.nn.objectives import MaskedLanguageModel
from tests.papers.costa.test_contrastive_spans import objective as costa
from tests.papers.cotmae_v2.pretraining import FIRST_VERSION, made, rows
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1}
SIMLM = {"encoder_rate": 0.3, "decoder_rate": 0.5, "unit": "whole-word", "superset": "union"}


def texts(count: int) -> list[dict]:
    text = tiny_tokenizer()(tiny_text(np.random.default_rng(3), 14), add_special_tokens=False)["input_ids"]
    return [{"input_ids": np.array(text), "epoch": 0, "index": index} for index in range(count)]


def documents(count: int) -> list[dict]:
    return [rows()[0] | {"index": index} for index in range(count)]


def mlm() -> Callable:
    how = {"masking": MASKING, "reduction": "mean", "length": 24, "seed": 7}
    return MaskedLanguageModel(tiny_masked_lm(), tiny_tokenizer(), **how).collate


def simlm() -> Callable:
    return TwiceMasked(tiny_tokenizer(), Masks(**SIMLM, mask=1.0, random=0.0), length=24, seed=7)


COLLATIONS = {  # and the calls that may be made for a text
    "mlm": (mlm, texts, 25),
    "costa": (lambda: costa().collate, texts, 75),
    "cotmae_v2": (lambda: made(**FIRST_VERSION).collate, documents, 170),
    "simlm": (simlm, texts, 40),
}


def calls_of(work: Callable[[], object]) -> int:
    count = 0

    def called(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", COLLATIONS)
def test_a_text_costs_little_beside_its_random_numbers(name):
    build, examples, most = COLLATIONS[name]
    collate = build()
    collate(examples(48))
    few, many = (calls_of(lambda count=count: collate(examples(count))) for count in (16, 48))
    made_of = [calls_of(lambda count=count: examples(count)) for count in (16, 48)]
    each = ((many - made_of[1]) - (few - made_of[0])) / 32
    assert each < most, f"{each} calls for each text"
