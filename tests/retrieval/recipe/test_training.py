import dataclasses

import pytest

from repro.errors import UsageError
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Texts
from tests.stage_inputs import optimisation

OBJECTIVE = Objective("toy", 1, "toy:Toy")
OPTIMISATION = optimisation(batch_size=8, epochs=1, max_steps=None, warmup_ratio=0.0, seed=3)
MODEL = recipe.backbone("some/bert", revision="main")
PAIRS = Texts(
    documents=recipe.corpus("msmarco-passage"),
    topics=recipe.queries("msmarco-passage/train/judged"),
    passage_length=192,
    separator="[SEP]",
)


def tokens(length: int):
    documents = recipe.corpus("wikipedia")
    return recipe.tokenize(documents, model=MODEL, length=length, policy="chunk", titles=True, separator=" ")


def tuned(texts: Texts):
    return recipe.finetune(
        MODEL,
        recipe.listed_negatives("msmarco-passage/train/hard-negatives", margin=None),
        texts=texts,
        objective=OBJECTIVE,
        options={},
        passages_per_query=4,
        optimisation=OPTIMISATION,
    )


def test_every_field_of_an_optimisation_is_a_parameter_and_the_batch_has_its_stages_name():
    pretrained = recipe.pretrain(tokens(512), objective=OBJECTIVE, options={}, optimisation=OPTIMISATION)
    fields = dataclasses.asdict(OPTIMISATION)
    size = fields.pop("batch_size")
    assert pretrained.params.items() >= {**fields, "texts_per_batch": size}.items()
    assert tuned(PAIRS).params.items() >= {**fields, "queries_per_batch": size}.items()


def test_a_warm_up_that_never_ends_is_refused_and_one_within_a_training_is_not():
    costs = dataclasses.replace(OPTIMISATION, epochs=None, max_steps=100, warmup_steps=100)
    made = recipe.pretrain(tokens(512), objective=OBJECTIVE, options={}, optimisation=costs)
    endless = dataclasses.replace(costs, warmup_steps=101)
    with pytest.raises(
        UsageError, match=r"101 steps of warm-up, and ends after 100\. Give fewer warmup_steps"
    ):
        recipe.pretrained_like(made, tokens=tokens(128), optimisation=endless)


def test_only_an_encoder_has_a_query_length_and_a_pooling():
    assert not {"query_length", "pooling"} & set(tuned(PAIRS).params)
    encoder = dataclasses.replace(PAIRS, query_length=32, pooling="cls")
    assert tuned(encoder).params.items() >= {"query_length": 32, "pooling": "cls"}.items()


def test_a_pretraining_like_another_keeps_objective_options_and_other_inputs():
    statistics = recipe.term_statistics(tokens(512), model=MODEL)
    made = recipe.pretrain(
        tokens(512),
        objective=OBJECTIVE,
        options={"temperature": 0.1},
        optimisation=OPTIMISATION,
        statistics=statistics,
    )
    shorter, longer = tokens(128), dataclasses.replace(OPTIMISATION, epochs=9, seed=4)
    like = recipe.pretrained_like(made, tokens=shorter, optimisation=longer)
    assert like.inputs == {"model": MODEL, "tokens": shorter, "statistics": statistics}
    assert like.params == {**made.params, "epochs": 9, "seed": 4, "length": 128}


def test_queries_are_encoded_without_a_separator_and_each_kind_at_its_precision():
    texts = dataclasses.replace(PAIRS, query_length=32, pooling="cls")
    precision = {"passages": "fp16", "queries": "fp32"}
    passages, topics = recipe.encode(MODEL, texts, normalize=True, precision=precision)
    assert [passages.params[name] for name in ("length", "separator", "precision")] == [192, "[SEP]", "fp16"]
    assert [topics.params[name] for name in ("length", "separator", "precision")] == [32, "", "fp32"]


def test_vectors_of_passages_alone_are_kept_in_half_the_disk():
    texts = dataclasses.replace(PAIRS, query_length=32, pooling="cls")
    how = {"normalize": True, "precision": "fp32"}
    usual, halved = recipe.encode(MODEL, texts, **how), recipe.encode(MODEL, texts, **how, numbers="float16")
    assert "numbers" not in usual[0].params and halved[0].params == {**usual[0].params, "numbers": "float16"}
    assert halved[1].fingerprint == usual[1].fingerprint
