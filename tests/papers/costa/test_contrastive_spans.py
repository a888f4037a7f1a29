from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.baselines.function_words import FUNCTION_WORDS
from papers.costa.contrastive_spans import ContrastiveSpans
from papers.costa.group_contrastive import group_contrastive
from repro.errors import UsageError
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.nn.encoder import saved_projector
from repro.retrieval.training.objective import build
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {
    "temperature": 0.1,
    "weight": 0.1,
    "spans": {"word": 2, "phrase": 2, "sentence": 2, "paragraph": 2},
    "span_tokens": {"phrase": [2, 4], "sentence": [4, 12], "paragraph": [12, 24]},
    "beta": [4, 2],
    "rounding": "floor",
    "spans_reach_sep": False,
    "projector": "nonlinear",
    "projector_layers": 1,
    "contrastive_input": "masked",
    "resample": "once",
    "start": "inclusive",
    "short_text": "clip",
    "similarity": "dot",
    "reduction": "mean",
    "masking": {"rate": 0.15, "mask": 0.8, "random": 0.1},
    "mlm_head": "checkpoint",
    "stop_words": list(FUNCTION_WORDS),
    "length": 48,
    "seed": 7,
}


def objective(*, dropout=0.0, **changes):
    torch.manual_seed(1)
    return build(ContrastiveSpans, tiny_masked_lm(dropout=dropout), tiny_tokenizer(), OPTIONS | changes)


def rows(count=5, words=40, epoch=0):
    generator = np.random.default_rng(5)
    tokenizer = tiny_tokenizer()
    return [
        {
            "input_ids": np.array(
                tokenizer(tiny_text(generator, words), add_special_tokens=False)["input_ids"]
            ),
            "index": index,
            "epoch": epoch,
        }
        for index in range(count)
    ]


def test_losses_are_those_of_equations_8_and_9_over_the_encoded_batch():
    costa = objective()
    batch = costa.collate(rows())
    hidden = costa.encoder.bert(batch["masked_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    z_text = torch.tanh(costa.projector.dense(hidden[:, 0]))
    z_span = torch.stack(
        [
            torch.stack([hidden[i, a:b].mean(dim=0) for a, b in batch["spans"][i].tolist()])
            for i in range(len(hidden))
        ]
    )
    mask = batch["span_mask"]
    assert mask.all()
    losses = costa(batch)
    expected = group_contrastive(z_text, z_span, mask, temperature=0.1, similarity="dot", reduction="mean")
    close(losses["contrastive"], 0.1 * expected)
    mlm = costa.encoder(
        batch["masked_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"]
    ).loss
    close(losses["mlm"], mlm)


def test_spans_of_the_text_are_shifted_by_cls():
    costa = objective(spans={"word": 6}, span_tokens={})
    batch = costa.collate(rows())
    for ids, spans in zip(batch["clean_ids"], batch["spans"], strict=True):
        for first, end in spans.tolist():
            tokens = tiny_tokenizer().convert_ids_to_tokens(ids[first:end])
            assert "".join(tokens).replace("##", "").isalpha()
            assert first >= 1 and not tokens[0].startswith("[")


def test_texts_are_cut_to_the_length_and_no_span_reaches_sep_or_padding():
    costa = objective(length=20)
    batch = costa.collate([*rows(words=40), rows(words=3)[0] | {"index": 9}])
    assert batch["clean_ids"].shape == (6, 20)
    assert (batch["spans"][..., 1] <= batch["attention_mask"].sum(dim=1, keepdim=True) - 1).all()


def test_spans_but_not_words_may_reach_sep_where_the_reading_says_so():
    bounds = {"phrase": [2, 2], "sentence": [4, 4], "paragraph": [30, 30]}
    reached = []
    for reach in (False, True):
        batch = objective(spans_reach_sep=reach, span_tokens=bounds, length=20).collate(rows(count=30))
        sep = batch["attention_mask"].sum(dim=1, keepdim=True) - 1  # (N, 1)
        reached.append((batch["spans"][..., 1] == sep + 1).any(dim=0).tolist())
    assert reached[0] == [False] * 8
    assert not any(reached[1][:2]) and all(reached[1][2:])


def test_clean_input_encodes_the_contrastive_side_unmasked():
    costa = objective(contrastive_input="clean", masking=OPTIONS["masking"] | {"rate": 1.0})
    batch = costa.collate(rows())
    loss = costa(batch)["contrastive"]
    other = {**batch, "masked_ids": torch.full_like(batch["masked_ids"], 4)}
    assert costa(other)["contrastive"] == loss
    assert objective(masking=OPTIONS["masking"] | {"rate": 1.0})(batch)["contrastive"] != loss


def test_spans_stay_or_change_with_the_epoch_as_the_reading_says_and_masks_always_change():
    for resample, same in (("once", True), ("epoch", False)):
        costa = objective(resample=resample)
        first, later = costa.collate(rows(epoch=0)), costa.collate(rows(epoch=3))
        assert bool((first["spans"] == later["spans"]).all()) is same
        assert (first["labels"] != later["labels"]).any()
    assert (objective(resample="once").collate(rows())["spans"] == first["spans"]).all()


def test_sums_are_means_times_what_they_divide_by():
    mean, total = objective(), objective(reduction="sum")
    batch = mean.collate(rows())
    means, sums = mean(batch), total(batch)
    close(sums["contrastive"], means["contrastive"] * 5)
    close(sums["mlm"], means["mlm"] * (batch["labels"] >= 0).sum())


def test_a_loss_that_nothing_in_the_batch_is_for_is_absent():
    costa = objective(short_text="drop")
    batch = costa.collate(rows(words=4))
    assert set(costa(batch)) <= {"mlm"}
    costa = objective(masking=OPTIONS["masking"] | {"rate": 0.0})
    assert set(costa(costa.collate(rows()))) == {"contrastive"}


@pytest.mark.parametrize("projector", ["nonlinear", "linear", "none"])
def test_the_projector_acts_on_the_text_only_and_is_kept_beside_the_encoder(tmp_path, projector):
    costa = objective(projector=projector)
    seen = []
    costa.projector.register_forward_hook(lambda module, given, out: seen.append(given[0].shape))
    costa(costa.collate(rows()))
    assert seen == [(5, 32)]
    costa.save(tmp_path / "model")
    again = load_masked_lm(tmp_path / "model")
    assert all(
        (again.state_dict()[name] == tensor).all() for name, tensor in costa.encoder.state_dict().items()
    )
    kept = saved_projector(tmp_path / "model")
    assert kept is None if projector == "none" else (kept[0].architecture, kept[1]) == (projector, False)


def test_bounds_shrunk_to_nothing_are_one_token():
    costa = objective(span_tokens={"phrase": [0, 0], "sentence": [0.4, 2.6], "paragraph": [3, 2]})
    assert costa.sampled.keywords["bounds"] == {"phrase": (1, 1), "sentence": (1, 2), "paragraph": (3, 3)}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spans": {"words": 5}}, "'words' is not a known granularity"),
        ({"spans": {"word": 0}}, "no granularity with a span"),
        ({"span_tokens": {"phrase": [1, 2]}}, "no bounds in tokens for 'sentence'"),
        ({"resample": "never"}, "'never' is not a known resampling"),
        ({"rounding": "up"}, "'up' is not a known rounding"),
        ({"start": "zero"}, "'zero' is not a known span start"),
        ({"short_text": "pad"}, "'pad' is not a known treatment of short texts"),
        ({"contrastive_input": "both"}, "'both' is not a known contrastive input"),
        ({"similarity": "l2"}, "'l2' is not a known similarity"),
        ({"projector": "mlp"}, "'mlp' is not a known projector"),
        ({"reduction": "max"}, "'max' is not a known reduction"),
        ({"tau": 1}, "unexpected keyword argument 'tau'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(changes, said):
    with pytest.raises(UsageError, match=said):
        objective(**changes)
