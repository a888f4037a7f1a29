from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.cpdae.discriminative_autoencoder import DiscriminativeAutoencoder
from papers.cpdae.distribution_contrast import distribution_contrast, representation_contrast
from repro.retrieval.training.objective import build
from tests.floats import close
from tests.papers.baselines.tiny_texts import rows, save_statistics, texts
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

OPTIONS = {
    "masking": {"rate": 0.15, "mask": 0.8, "random": 0.1},
    "mlm_head": "checkpoint",
    "mlm_reduction": "mean",
    "decoder": "mlm-head",
    "decoder_start": "new",
    "second_term": "binary",
    "target": "original",
    "special_tokens": False,
    "reconstruction_reduction": "sum",
    "versions": 2,
    "idf": None,
    "contrast": "distribution",
    "weight": 0.1,
    "direction": "both",
    "contrast_reduction": "mean",
    "temperature": 1.0,
    "divergence_scale": 1.0,
    "normalisation": "sum",
    "similarity": "dot",
    "length": 48,
    "seed": 7,
}
EQUATION_5 = {"temperature": 1.0, "direction": "both", "reduction": "mean"}
ALL_MASKED = {"rate": 1.0, "mask": 1.0, "random": 0.0}


@pytest.fixture(scope="module")
def statistics(tmp_path_factory):
    return save_statistics(tmp_path_factory.mktemp("statistics"), texts(100))


def objective(*, dropout=0.0, **changes):
    torch.manual_seed(1)
    model = tiny_masked_lm(dropout=dropout)
    return build(DiscriminativeAutoencoder, model, tiny_tokenizer(), OPTIONS | changes)


def scores(cpdae, batch):
    """[CLS] vectors h and scores z of all versions."""
    encoded = cpdae.encoder.bert(batch["masked_ids"], attention_mask=batch["attention_mask"])
    h = encoded.last_hidden_state[:, 0]
    return h, cpdae.decoder(h)


def equation_4(z, words):
    total = 0.0
    for one, has in zip(torch.sigmoid(z.double()).tolist(), words, strict=True):
        total -= sum(np.log(s if word in has else 1 - s) for word, s in enumerate(one))
    return total / len(z)


def words_of(ids, mask):
    special = set(tiny_tokenizer().all_special_ids)
    return [set(one[there.bool()].tolist()) - special for one, there in zip(ids, mask, strict=True)]


def test_losses_are_those_of_equation_6_over_both_versions():
    cpdae = objective()
    batch = cpdae.collate(rows())
    losses = cpdae(batch)
    assert list(losses) == ["mlm", "reconstruction", "contrastive"]
    mlm = cpdae.encoder(
        batch["masked_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"]
    ).loss
    close(losses["mlm"], mlm)
    _, z = scores(cpdae, batch)
    words = words_of(batch["clean_ids"], batch["attention_mask"])
    close(losses["reconstruction"], equation_4(z, words))
    s = torch.sigmoid(z)
    z_tilde = s / s.sum(dim=1, keepdim=True)
    expected = distribution_contrast(z_tilde[:5], z_tilde[5:], divergence_scale=1.0, **EQUATION_5)
    close(losses["contrastive"], 0.1 * expected)


def test_the_variant_contrasts_the_vectors_instead():
    cpdae = objective(contrast="representation", similarity="cosine", temperature=0.05)
    batch = cpdae.collate(rows())
    h, _ = scores(cpdae, batch)
    expected = representation_contrast(
        h[:5], h[5:], similarity="cosine", **EQUATION_5 | {"temperature": 0.05}
    )
    close(cpdae(batch)["contrastive"], 0.1 * expected)


def test_versions_share_words_and_differ_in_masks():
    batch = objective().collate(rows())
    assert len(batch["masked_ids"]) == 10
    assert (batch["clean_ids"][:5] == batch["clean_ids"][5:]).all()
    assert (batch["labels"][:5] != batch["labels"][5:]).any(dim=1).all()


def test_with_one_version_predicted_the_other_serves_the_contrast_alone():
    both, one = objective(), objective(versions=1)
    batch = both.collate(rows())
    losses = one(batch)
    assert losses["contrastive"] == both(batch)["contrastive"]
    alone = objective(versions=1, contrast="none")
    halves = alone.collate(rows())
    assert (halves["masked_ids"] == batch["masked_ids"][:5]).all()
    again = alone(halves)
    assert set(again) == {"mlm", "reconstruction"}
    for name in again:
        close(again[name], losses[name])


def test_the_target_is_the_text_before_or_after_masking():
    batch = objective(masking=ALL_MASKED).collate(rows())
    _, z = scores(objective(), batch)
    nothing = objective(target="masked", masking=ALL_MASKED)(batch)["reconstruction"]
    close(nothing, equation_4(z, [set()] * 10))
    mask_only = objective(target="masked", masking=ALL_MASKED, special_tokens=True)(batch)["reconstruction"]
    tokenizer = tiny_tokenizer()
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id}
    close(mask_only, equation_4(z, [special] * 10))


def test_texts_are_cut_to_the_length():
    assert objective(length=20).collate(rows())["clean_ids"].shape == (10, 20)


def test_idf_weighs_the_reconstruction_and_nothing_else(statistics):
    plain = objective()
    batch = plain.collate(rows())
    losses = plain(batch)
    for both_terms in (True, False):
        idf = {"idf": "smooth", "normalise": True, "both_terms": both_terms}
        weighted = objective(idf=idf, statistics=statistics)
        found = weighted(batch)
        assert found["mlm"] == losses["mlm"] and found["contrastive"] == losses["contrastive"]
        _, z = scores(weighted, batch)
        total = 0.0
        s, weights = torch.sigmoid(z.double()), weighted.idf.double()
        for row, has in enumerate(words_of(batch["clean_ids"], batch["attention_mask"])):
            for word in range(z.shape[1]):
                w = weights[word].item() if both_terms or word in has else 1.0
                total -= w * np.log(s[row, word].item() if word in has else 1 - s[row, word].item())
        close(found["reconstruction"], total / len(z))
    assert "idf" not in weighted.state_dict()


def test_a_loss_that_nothing_in_the_batch_is_for_is_absent():
    cpdae = objective(masking=OPTIONS["masking"] | {"rate": 0.0})
    assert set(cpdae(cpdae.collate(rows()))) == {"reconstruction", "contrastive"}
    cpdae = objective()
    assert "contrastive" not in cpdae(cpdae.collate(rows(count=1)))
    assert "contrastive" in cpdae(cpdae.collate(rows(count=2)))


def test_a_new_mlm_head_comes_after_the_decoder_has_started_from_the_old_one():
    cpdae = objective(mlm_head="new", decoder_start="mlm-head")
    head = tiny_masked_lm().cls.predictions.transform.dense.weight
    assert (cpdae.decoder.dense.weight == head).all()
    assert (cpdae.encoder.cls.predictions.transform.dense.weight != head).all()


@pytest.mark.parametrize("contrast", ["distribution", "representation"])
def test_half_precision_around_it_leaves_losses_in_full_precision(contrast):
    cpdae = objective(contrast=contrast, similarity="cosine")
    batch = cpdae.collate(rows())
    exact = cpdae(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = cpdae(batch)
    sum(losses.values()).backward()
    for name, loss in losses.items():
        assert loss.dtype == torch.float32 and loss.item() == pytest.approx(exact[name].item(), rel=0.02)
    assert all(p.grad.isfinite().all() for p in cpdae.decoder.parameters())
