from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from papers.costa.contrastive_spans import ContrastiveSpans
from papers.costa.function_words import FUNCTION_WORDS
from papers.costa.group_contrastive import group_contrastive
from repro.errors import UsageError
from repro.nn.checkpoint import load_masked_lm
from repro.nn.projector import saved_projector
from repro.train import built
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {
    "temperature": 0.1,
    "weight": 0.1,
    "spans": {"word": 2, "phrase": 2, "sentence": 2, "paragraph": 2},
    "span_tokens": {"phrase": [2, 4], "sentence": [4, 12], "paragraph": [12, 24]},
    "beta": [4, 2],
    "projector": "nonlinear",
    "contrastive_input": "masked",
    "resample": "once",
    "start": "inclusive",
    "short_text": "clip",
    "similarity": "dot",
    "reduction": "mean",
    "masking": {"rate": 0.15, "mask": 0.8, "random": 0.1},
    "stop_words": list(FUNCTION_WORDS),
    "length": 48,
    "seed": 7,
}


def objective(*, dropout=0.0, **changes):
    torch.manual_seed(1)
    return built(ContrastiveSpans, tiny_masked_lm(dropout=dropout), tiny_tokenizer(), OPTIONS | changes)


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


def group(n=4, s=3, h=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z_text = torch.randn(n, h, dtype=torch.float64, generator=generator)
    z_span = torch.randn(n, s, h, dtype=torch.float64, generator=generator)
    return z_text, z_span, torch.ones(n, s, dtype=torch.bool)


def equation_8(z_text, z_span, span_mask, *, temperature, similarity, reduction):
    """Eq. 8 over an explicit list of all N(4T+1) representations."""

    def sim(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot if similarity == "dot" else dot / math.hypot(*a) / math.hypot(*b)

    n, s = span_mask.shape
    kept = [i for i in range(n) if any(span_mask[i])]
    everything = {("text", i): z_text[i].tolist() for i in kept}
    everything |= {("span", i, p): z_span[i, p].tolist() for i in kept for p in range(s) if span_mask[i, p]}
    total = 0.0
    for i in kept:
        z_i = everything["text", i]
        denominator = sum(
            math.exp(sim(z_i, z_j) / temperature) for key, z_j in everything.items() if key != ("text", i)
        )
        group = [key for key in everything if key[0] == "span" and key[1] == i]
        total -= sum(
            math.log(math.exp(sim(z_i, everything[p]) / temperature) / denominator) for p in group
        ) / len(group)
    return total / len(kept) if reduction == "mean" else total


SETTINGS = {"temperature": 0.7, "similarity": "dot", "reduction": "sum"}


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("absent", [[], [(0, 1), (2, 0)], [(1, 0), (1, 1), (1, 2)]])
def test_the_loss_is_equation_8_written_as_loops(similarity, reduction, absent):
    z_text, z_span, mask = group()
    for place in absent:
        mask[place] = False
    settings = {"temperature": 0.7, "similarity": similarity, "reduction": reduction}
    loss = group_contrastive(z_text, z_span, mask, **settings)
    assert loss.item() == pytest.approx(equation_8(z_text, z_span, mask, **settings), rel=1e-12)


def test_it_is_the_supervised_contrastive_loss_with_one_anchor_for_each_text():
    """Khosla et al. 2020, Eq. 2, only first views as anchors; N labels, 4T+1 views of each."""
    z_text, z_span, mask = group(n=3, s=4)
    n, s, _ = z_span.shape
    views = torch.cat((z_text.unsqueeze(1), z_span), dim=1).flatten(0, 1)  # (N(S+1), H)
    labels = torch.arange(n).repeat_interleave(s + 1)
    total = 0.0
    for i in range(0, n * (s + 1), s + 1):
        others = [a for a in range(n * (s + 1)) if a != i]
        positives = [p for p in others if labels[p] == labels[i]]
        normaliser = sum(math.exp((views[i] @ views[a]).item() / 0.3) for a in others)
        total += -sum(
            math.log(math.exp((views[i] @ views[p]).item() / 0.3) / normaliser) for p in positives
        ) / len(positives)
    loss = group_contrastive(z_text, z_span, mask, temperature=0.3, similarity="dot", reduction="sum")
    assert loss.item() == pytest.approx(total, rel=1e-10)


def test_the_order_of_texts_and_of_a_groups_spans_does_not_matter():
    z_text, z_span, mask = group()
    loss = group_contrastive(z_text, z_span, mask, **SETTINGS).item()
    texts, spans = [2, 0, 3, 1], [1, 2, 0]
    again = group_contrastive(z_text[texts], z_span[texts][:, spans], mask, **SETTINGS)
    assert again.item() == pytest.approx(loss, rel=1e-12)


def test_other_positives_and_other_texts_stay_in_the_denominator():
    z_text, z_span, mask = group(n=1, s=2)
    s = (z_span[0] @ z_text[0] / 0.7).tolist()
    expected = -sum(one - math.log(sum(math.exp(x) for x in s)) for one in s) / 2
    assert group_contrastive(z_text, z_span, mask, **SETTINGS).item() == pytest.approx(expected, rel=1e-12)
    z_text, z_span, mask = group(n=2, s=1)
    z_text.requires_grad_()
    group_contrastive(z_text, z_span * 0, mask, **SETTINGS).backward()
    assert (z_text.grad != 0).all()  # spans at the origin: only the other text can be pushed away


def test_an_absent_span_and_a_text_without_spans_get_no_gradient():
    z_text, z_span, mask = group()
    mask[0, 2] = False
    mask[3] = False
    z_text.requires_grad_()
    z_span.requires_grad_()
    group_contrastive(z_text, z_span, mask, **SETTINGS).backward()
    assert (z_span.grad[0, 2] == 0).all() and (z_span.grad[3] == 0).all() and (z_text.grad[3] == 0).all()
    assert (z_span.grad[mask] != 0).all() and (z_text.grad[:3] != 0).all()


def test_large_products_over_a_small_temperature_stay_finite():
    z_text, z_span, mask = group()
    z_text, z_span = (z.float().mul(100).requires_grad_() for z in (z_text, z_span))
    loss = group_contrastive(z_text, z_span, mask, temperature=0.01, similarity="dot", reduction="mean")
    loss.backward()
    assert loss.isfinite() and z_text.grad.isfinite().all()


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
    expected = equation_8(z_text, z_span, mask, temperature=0.1, similarity="dot", reduction="mean")
    assert losses["contrastive"].item() == pytest.approx(0.1 * expected, rel=1e-4)
    mlm = costa.encoder(
        batch["masked_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"]
    ).loss
    torch.testing.assert_close(losses["mlm"], mlm)


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
    # both readings begin alike
    assert (objective(resample="once").collate(rows())["spans"] == first["spans"]).all()


def test_a_text_gives_the_same_spans_and_mask_in_every_batch():
    costa, texts = objective(), rows()
    whole, part = costa.collate(texts), costa.collate(texts[3:4])
    size = part["clean_ids"].shape[1]
    for name in ("clean_ids", "masked_ids", "labels"):
        assert (whole[name][3, :size] == part[name][0]).all()
    assert (whole["spans"][3] == part["spans"][0]).all()


def test_sums_are_means_times_what_they_divide_by():
    mean, total = objective(), objective(reduction="sum")
    batch = mean.collate(rows())
    means, sums = mean(batch), total(batch)
    torch.testing.assert_close(sums["contrastive"], means["contrastive"] * 5)
    torch.testing.assert_close(sums["mlm"], means["mlm"] * (batch["labels"] >= 0).sum())


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
    assert costa.sampling["bounds"] == {"phrase": (1, 1), "sentence": (1, 2), "paragraph": (3, 3)}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spans": {"words": 5}}, "no granularity 'words'"),
        ({"span_tokens": {"phrase": [1, 2]}}, "no bounds in tokens for 'sentence'"),
        ({"resample": "never"}, "no resampling 'never'"),
        ({"start": "zero"}, "no span start 'zero'"),
        ({"short_text": "pad"}, "no treatment of short texts 'pad'"),
        ({"contrastive_input": "both"}, "no contrastive input 'both'"),
        ({"similarity": "l2"}, "no similarity 'l2'"),
        ({"projector": "mlp"}, "no projector 'mlp'"),
        ({"reduction": "max"}, "no reduction 'max'"),
        ({"tau": 1}, "unexpected keyword argument 'tau'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(changes, said):
    with pytest.raises(UsageError, match=said):
        objective(**changes)
