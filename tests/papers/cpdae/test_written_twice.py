"""CPDAE's pre-training against its equations written a second time, on made-up vectors and weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oracles.declaration import Mutation
from papers.cpdae.decoder import MLPDecoder
from papers.cpdae.idf import idf_weights
from repro.retrieval.nn.masked_tokens import IGNORED
from tests.floats import close
from tests.papers.baselines.tiny_texts import rows, save_statistics, texts
from tests.papers.cpdae import written_again as again
from tests.papers.cpdae.test_discriminative_autoencoder import OPTIONS, objective
from tests.papers.written_twice import Given, Leaves, named, notices, random, redraw, uncollected
from tests.tiny_models import tiny_tokenizer

__all__ = ["uncollected"]
WIDTH, TEXTS, WORDS = 4, 2, len(tiny_tokenizer())
DEFAULTS = {"reconstruction_reduction": "mean"}  # of readings.yaml, where the options of other tests differ
IDF = {"idf": "smooth", "normalise": True, "both_terms": True}
VECTORS = {"contrast": "representation", "similarity": "cosine", "temperature": 0.05}
READINGS = {
    "defaults": {},
    "decoder-layers": {"decoder": "norm-last"},
    "decoder-layers, two before": {"decoder": "two-before"},
    "reconstruction-second-term": {"second_term": "printed"},
    "reconstruction-target": {"target": "masked"},
    "reconstruction-special-tokens": {"special_tokens": True},
    "reconstruction-special-tokens after masking": {"special_tokens": True, "target": "masked"},
    "reconstruction-reduction": {"reconstruction_reduction": "sum"},
    "masked-versions": {"versions": 1},
    "contrastive-direction": {"direction": "first"},
    "contrastive-reduction": {"contrast_reduction": "sum"},
    "contrastive-temperature": {"temperature": 0.1},
    "divergence-scale": {"divergence_scale": 2.0},
    "distribution-normalisation": {"normalisation": "softmax"},
    "mlm-reduction": {"mlm_reduction": "sum"},
    "weight": {"weight": 0.7},
    "without contrast": {"contrast": "none"},
    "CPDAE_R": VECTORS,
    "CPDAE_R, representation-similarity": VECTORS | {"similarity": "dot", "temperature": 0.1},
    "CPDAE_R, representation-loss-weight": VECTORS | {"weight": 1.0},
    "CPDAE_R, contrastive-direction": VECTORS | {"direction": "first"},
    "IDF-REC": {"contrast": "none", "idf": IDF},
    "IDF-REC, occurring terms": {"contrast": "none", "idf": IDF | {"both_terms": False}},
    "IDF-REC, not normalised": {"contrast": "none", "idf": IDF | {"normalise": False}},
    "IDF-REC, with contrast": {"idf": IDF},
    "IDF-REC, as printed": {"idf": IDF | {"both_terms": False}, "second_term": "printed"},
}
FOLDER = "papers.cpdae."
OBJECTIVE = FOLDER + "discriminative_autoencoder:DiscriminativeAutoencoder"
CONTRAST, SUMS = FOLDER + "distribution_contrast:", FOLDER + "reconstruction:"
CHANGED = [  # a case that notices, and a change
    (
        "defaults",
        Mutation(
            FOLDER + "decoder:MLPDecoder.forward", "functional.gelu(self.dense", "-functional.gelu(self.dense"
        ),
    ),
    (
        "decoder-layers, two before",
        Mutation(FOLDER + "decoder:MLPDecoder.forward", "(functional.gelu(self.first(h_cls)))", "(h_cls)"),
    ),
    ("defaults", Mutation(FOLDER + "decoder:MLPDecoder.forward", "self.norm(inner)", "self.norm(-inner)")),
    ("defaults", Mutation(SUMS + "text_losses", "signs * z", "-signs * z")),
    ("defaults", Mutation(SUMS + "text_losses", "terms = -functional", "terms = functional")),
    ("defaults", Mutation(SUMS + "text_losses", "y.bool(), 1.0, -1.0", "y.bool(), 1.0, 1.0")),
    ("IDF-REC, occurring terms", Mutation(SUMS + "text_losses", "weights, 1.0", "1.0, weights")),
    ("IDF-REC", Mutation(SUMS + "text_losses", "terms * (", "terms / (")),
    (
        "defaults",
        Mutation(SUMS + "text_mean", "sums.mean() / vocabulary_size", "sums.mean() * vocabulary_size"),
    ),
    ("defaults", Mutation(SUMS + "word_labels", "attention_mask == 0", "attention_mask == 1")),
    ("defaults", Mutation(SUMS + "word_labels", "] = False", "] = True")),
    ("defaults", Mutation(CONTRAST + "word_distributions", "logsigmoid(z)", "logsigmoid(-z)")),
    ("distribution-normalisation", Mutation(CONTRAST + "word_distributions", "else z", "else -z")),
    ("defaults", Mutation(CONTRAST + "_JensenShannon.forward", "halves + halves.T", "halves - halves.T")),
    ("defaults", Mutation(CONTRAST + "_JensenShannon.forward", "/ 2", "/ 1")),
    (
        "defaults",
        Mutation(CONTRAST + "_JensenShannon.backward", "gradient + gradient.T", "gradient - gradient.T"),
    ),
    ("defaults", Mutation(CONTRAST + "_log_ratios", "own + words", "own - words")),
    ("defaults", Mutation(CONTRAST + "distribution_contrast", "-divergence_scale", "divergence_scale")),
    ("CPDAE_R", Mutation(CONTRAST + "representation_contrast", "scores = sim", "scores = -sim")),
    (
        "contrastive-temperature",
        Mutation(CONTRAST + "version_contrast", "scores / temperature", "scores * temperature"),
    ),
    ("defaults", Mutation(CONTRAST + "version_contrast", "-math.inf", "0.0")),
    ("defaults", Mutation(CONTRAST + "version_contrast", "+ total // 2", "+ total // 2 + 1")),
    ("defaults", Mutation(OBJECTIVE + ".losses", "self.weight *", "-self.weight *")),
    ("defaults", Mutation(OBJECTIVE + ".represent", "hidden[:, 0]", "hidden[:, 1]")),
    (
        "defaults",
        Mutation("repro.retrieval.nn.masked_tokens:mlm_loss", 'rows["mlm"].sum()', '-rows["mlm"].sum()'),
    ),
]


def made(idf, **changes):
    """The objective in float64 over a decoder of its own, its weights made up, and its idf weights."""
    cpdae = objective(**DEFAULTS | changes).double()
    config = cpdae.encoder.config
    config.hidden_size = WIDTH
    cpdae.decoder = MLPDecoder(config, layout=changes.get("decoder", "mlm-head"))
    weights = None
    if idf is not None:
        frequencies = [at % 7 for at in range(WORDS)]
        how = {"normalise": idf["normalise"]}
        weights = again.smooth_idf(frequencies, 20, **how)
        cpdae.idf, cpdae.both_terms = torch.tensor(weights, dtype=torch.float64), idf["both_terms"]
    return cpdae, redraw(cpdae.decoder, seed=1), weights


def check(*, idf=None, **changes):
    """Eqs. 1 to 6: hidden states, the decoder's weights, and the logits of masked words are made up."""
    options = OPTIONS | DEFAULTS | changes
    cpdae, parameters, weights = made(idf, **changes)
    batch = cpdae.collate(rows(count=TEXTS, words=9))
    counted = TEXTS * (
        options["versions"] if options["contrast"] != "none" or options["versions"] == 2 else 1
    )
    labels = batch["labels"][:counted]
    hidden = random(*batch["labels"].shape, WIDTH, seed=20)
    logits = random(int((labels != IGNORED).sum()), WORDS, seed=21)
    leaves = Leaves(hidden=hidden, logits=logits, **parameters)
    cpdae.hidden, cpdae.encoder.cls = lambda ids, attention: hidden, Given(logits)
    how = {"form": options["second_term"], "reduction": options["reconstruction_reduction"], "idf": weights}
    how["both_terms"] = idf is None or idf["both_terms"]
    y = written_labels(batch, options)[:counted]
    targets = labels[labels != IGNORED].tolist()
    leaves.held(
        sum(cpdae(batch).values()),
        lambda n: written_loss(n, y, targets, options=options, how=how),
        case=f"{__name__} {idf} {changes}",
    )


def written_loss(n, y, targets, *, options, how):
    """Eq. 6 from numbers by name: hidden states, the decoder's weights, logits of masked words."""
    z = [decoded(one[0], n, order=options["decoder"]) for one in n["hidden"]]
    rebuilt = [again.reconstruction(one, words, **how) for one, words in zip(z, y, strict=False)]
    mlm = again.masked_words(n["logits"], targets, reduction=options["mlm_reduction"])
    contrast = written_contrast([one[0] for one in n["hidden"]], z, options)
    return again.total(rebuilt, mlm, contrast, weight=options["weight"])


def decoded(vector, n, *, order):
    """Eq. 2 with the decoder's own weights."""
    names = ["dense", "vocabulary", "norm", *(("first", "first_norm") if order == "two-before" else ())]
    first, second, norm, *before = ((n[f"{name}.weight"], n[f"{name}.bias"]) for name in names)
    return again.decoder(vector, first=first, second=second, norm=norm, before=before, order=order)


def written_labels(batch, options):
    """The y of every masked text, from its tokens without padding."""
    tokenizer = tiny_tokenizer()
    ids = batch["clean_ids" if options["target"] == "original" else "masked_ids"]
    tokens = [
        one[: int(there.sum())].tolist() for one, there in zip(ids, batch["attention_mask"], strict=True)
    ]
    how = {"special": tokenizer.all_special_ids, "counted": options["special_tokens"]}
    return [again.labels(one, vocabulary=WORDS, **how) for one in tokens]


def written_contrast(vectors, z, options):
    """Eq. 5 of the word distributions or, as CPDAE_R has it, of the vectors; 0 without a contrast."""
    if options["contrast"] == "none":
        return 0.0
    how = {"temperature": options["temperature"], "direction": options["direction"]}
    how["reduction"] = options["contrast_reduction"]
    if options["contrast"] == "representation":
        kind = again.cosine if options["similarity"] == "cosine" else again.dot
        return again.contrast(vectors[:TEXTS], vectors[TEXTS:], alike=kind, **how)
    rows_of = [again.distribution(one, how=options["normalisation"]) for one in z]
    alike = again.minus_divergence(scale=options["divergence_scale"])
    return again.contrast(rows_of[:TEXTS], rows_of[TEXTS:], alike=alike, **how)


@pytest.mark.parametrize("case", READINGS.values(), ids=READINGS)
def test_both_writings_give_one_loss_and_one_gradient(case):
    check(**case)


@pytest.mark.parametrize("normalise", [True, False])
def test_both_writings_give_the_same_idf(tmp_path, normalise):
    counted = texts(100)
    found = idf_weights(
        save_statistics(tmp_path, counted), idf="smooth", normalise=normalise, vocabulary_size=WORDS
    )
    frequencies = [sum(word in one.tolist() for one in counted) for word in range(WORDS)]
    weights = again.smooth_idf(frequencies, len(counted), normalise=normalise)
    close(found.numpy(), weights)  # kept in float32


def test_equation_7_is_minus_twice_the_usual_divergence_but_for_its_constant():
    p, q = (again.distribution(one) for one in random(2, 9, seed=3).tolist())
    twice = again.equation_7(p, q).value - 2 * again.minus_divergence()(p, q).value
    close(twice, 2 * np.log(2))


@pytest.mark.parametrize(("case", "changed"), CHANGED, ids=named)
def test_a_changed_equation_is_noticed(case, changed):
    assert notices(changed, check, READINGS[case])
