"""Equations whose code nobody released: loops hold each, and fail where a sign is changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oracles.declaration import Mutation
from tests.oracles.mutated import mutated
from tests.papers.costa import test_contrastive_spans as spans
from tests.papers.costa import test_group_contrastive as group
from tests.papers.costa import test_spans as lengths
from tests.papers.cotmae_v2 import test_multi_view_autoencoder as views
from tests.papers.cotmae_v2 import test_multi_view_gradients as gradients
from tests.papers.cotmae_v2 import test_printed_denominator as printed
from tests.papers.cpdae import test_decoder as decoder
from tests.papers.cpdae import test_discriminative_autoencoder as cpdae
from tests.papers.cpdae import test_distribution_contrast as contrast
from tests.papers.cpdae import test_reconstruction as words
from tests.retrieval.nn import test_multi_view_bi_encoder as fine_tuning
from tests.retrieval.nn.test_multi_view_bi_encoder import start

__all__ = ["start"]
ABSENT = [(0, 1), (1, 0), (1, 1), (1, 2)]  # spans, and all those of a text
INNER = {"cls": False, "sep": False}
SETTINGS = {"temperature": 0.1, "direction": "both", "reduction": "mean"}
# equations -> the loops that hold them, given a start of the fine-tuning
HELD: dict[str, Callable[[object], object]] = {
    "COSTA, Eq. 1": lambda _: lengths.test_a_length_is_equation_1_in_whole_tokens("floor", int),
    "COSTA, Eq. 1's draw": lambda _: lengths.test_lengths_follow_the_beta_distribution_between_the_bounds(),
    "COSTA, Eq. 2": lambda _: lengths.test_starts_are_uniform_over_the_places_of_the_reading("inclusive", 7),
    "COSTA, Eq. 8": lambda _: group.test_the_loss_is_equation_8_written_as_loops("dot", "mean", ABSENT),
    "COSTA, Eqs. 5 to 9": lambda _: spans.test_losses_are_those_of_equations_8_and_9_over_the_encoded_batch(),
    "CPDAE, Eq. 2": lambda _: [decoder.test_scores_are_equation_2(layout) for layout in decoder.LAYOUTS],
    "CPDAE, Eq. 4": lambda _: [
        words.test_the_loss_is_equation_4_written_as_loops("binary", "mean", True, both)
        for both in (True, False)
    ],
    "CPDAE, Eq. 5": lambda _: contrast.test_the_loss_is_equation_5_written_as_loops(SETTINGS, 2.0),
    "CPDAE, Eq. 5 of vectors": lambda _: contrast.test_the_variant_is_equation_5_with_another_similarity(
        SETTINGS, "dot"
    ),
    "CPDAE, the divergence": lambda _: _divergences(),
    "CPDAE, Eq. 6": lambda _: cpdae.test_losses_are_those_of_equation_6_over_both_versions(),
    "CoT-MAE v2, Eqs. 3 to 6": lambda _: views.test_the_two_vectors_are_equations_3_to_6_and_11(
        "transform", INNER
    ),
    "CoT-MAE v2, Eq. 4's gradient": lambda _: [
        gradients.test_the_embeddings_get_no_gradient_by_the_projection_and_one_by_the_logits_unless_cut(cut)
        for cut in ("projection", "everywhere")
    ],
    "CoT-MAE v2, Eqs. 9 to 13": lambda _: [
        views.test_the_losses_are_equations_9_to_13_written_as_loops(slot, "both", "mean")
        for slot in ("replace", "prepend")
    ],
    "CoT-MAE v2, Eqs. 7 and 15": lambda start: (
        fine_tuning.test_the_loss_is_equation_15_of_equation_7_written_as_loops(
            start, ["sparse", "sparse"], "batch"
        )
    ),
    "CoT-MAE v2, Eq. 15 as printed": lambda _: (
        printed.test_the_loss_is_equation_15_as_printed_written_as_loops(12)
    ),
    "CoT-MAE v2, Eq. 16": lambda start: [
        fine_tuning.test_the_divergence_is_equation_16_over_each_querys_own_passages(start, direction)
        for direction in ("teacher-student", "student-teacher")
    ],
    "CoT-MAE v2, FLOPS": lambda start: fine_tuning.test_flops_are_of_whole_or_of_truncated_vectors(
        start, "before"
    ),
}


def _divergences() -> None:
    with pytest.MonkeyPatch.context() as patch:
        contrast.test_divergences_and_their_gradient_are_those_of_all_pairs_at_once(patch, 1)


GROUP, SPANS = "papers.costa.group_contrastive:group_contrastive", "papers.costa.spans:"
COSTA = "papers.costa.contrastive_spans:ContrastiveSpans"
CPDAE = "papers.cpdae.discriminative_autoencoder:DiscriminativeAutoencoder"
SUMS, DECODER = "papers.cpdae.reconstruction:text_losses", "papers.cpdae.decoder:MLPDecoder.forward"
CONTRAST = "papers.cpdae.distribution_contrast:"
VIEWS, SPARSE = (
    "papers.cotmae_v2.multi_view_autoencoder:MultiViewAutoEncoder",
    "repro.retrieval.nn.view_encoder:",
)
RETRIEVER = "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder"
PRINTED = "papers.cotmae_v2.printed_denominator:printed_denominator"
CHANGED = [  # the equations that are no longer the published ones, and where; what was there, and what is
    ("COSTA, Eq. 1", SPANS + "span_lengths", "longest - shortest", "longest + shortest"),
    ("COSTA, Eq. 1's draw", SPANS + "span_lengths", "generator.beta(*beta", "generator.beta(*beta[::-1]"),
    ("COSTA, Eq. 2", SPANS + "span_starts", "n - lengths +", "n - lengths -"),
    ("COSTA, Eq. 8", GROUP, "log_denominator - positives", "log_denominator + positives"),
    ("COSTA, Eq. 8", GROUP, "own | ~anchors", "~anchors"),
    ("COSTA, Eq. 8", GROUP, "own | ~anchors", "own"),
    ("COSTA, Eq. 8", GROUP, "total / anchors.sum()", "total / count"),
    ("COSTA, Eqs. 5 to 9", COSTA + ".losses", "self.weight * self.contrast", "-self.weight * self.contrast"),
    ("COSTA, Eqs. 5 to 9", COSTA + ".represent", "hidden[:, 0])", "hidden[:, 1])"),
    ("COSTA, Eqs. 5 to 9", "repro.retrieval.nn.encoder:span_means", "< end", "<= end"),
    ("CPDAE, Eq. 2", DECODER, "functional.gelu(self.dense", "-functional.gelu(self.dense"),
    ("CPDAE, Eq. 2", DECODER, "(functional.gelu(self.first(h_cls)))", "(h_cls)"),
    ("CPDAE, Eq. 4", SUMS, "signs * z", "-signs * z"),
    ("CPDAE, Eq. 4", SUMS, "weights, 1.0", "1.0, weights"),
    ("CPDAE, Eq. 4", SUMS, "terms * (", "terms / ("),
    ("CPDAE, Eq. 5", CONTRAST + "distribution_contrast", "-divergence_scale", "divergence_scale"),
    ("CPDAE, Eq. 5", CONTRAST + "version_contrast", "scores / temperature", "scores * temperature"),
    ("CPDAE, Eq. 5", CONTRAST + "version_contrast", "-math.inf", "0.0"),
    ("CPDAE, Eq. 5 of vectors", CONTRAST + "representation_contrast", "scores = sim", "scores = -sim"),
    ("CPDAE, the divergence", CONTRAST + "_JensenShannon.forward", "/ 2", "/ 1"),
    (
        "CPDAE, the divergence",
        CONTRAST + "_JensenShannon.backward",
        "gradient + gradient.T",
        "gradient - gradient.T",
    ),
    ("CPDAE, Eq. 6", CPDAE + ".losses", "self.weight *", "-self.weight *"),
    ("CPDAE, Eq. 6", CPDAE + ".represent", "hidden[:, 0]", "hidden[:, 1]"),
    ("CPDAE, Eq. 6", "repro.retrieval.nn.masked_tokens:mlm_loss", '"mlm"].sum()', '"mlm"].sum().neg()'),
    ("CoT-MAE v2, Eqs. 3 to 6", SPARSE + "max_log_saturated", ".relu().log1p()", ".relu()"),
    ("CoT-MAE v2, Eqs. 3 to 6", SPARSE + "kept_positions", "if not is_kept:", "if is_kept:"),
    ("CoT-MAE v2, Eqs. 3 to 6", VIEWS + ".bottlenecks", "hidden[:, 0]", "-hidden[:, 0]"),
    ("CoT-MAE v2, Eq. 4's gradient", VIEWS + ".bottlenecks", "weight.detach()", "weight"),
    ("CoT-MAE v2, Eq. 4's gradient", VIEWS + ".logits", "weight.detach()", "weight"),
    ("CoT-MAE v2, Eqs. 9 to 13", VIEWS + ".forward", "self.weight * loss", "-self.weight * loss"),
    ("CoT-MAE v2, Eqs. 9 to 13", VIEWS + ".decode", "vectors[batch", "-vectors[batch"),
    ("CoT-MAE v2, Eqs. 9 to 13", "papers.cotmae_v2.decoders:decoded", "embedded[:, 1:]", "embedded[:, :-1]"),
    (
        "CoT-MAE v2, Eqs. 7 and 15",
        "repro.retrieval.nn.contrastive:view_similarities",
        "in terms])",
        "in set(terms)])",
    ),
    ("CoT-MAE v2, Eqs. 7 and 15", RETRIEVER + ".losses", "score / self", "score * self"),
    ("CoT-MAE v2, Eq. 15 as printed", PRINTED, "own, -", "own, "),
    ("CoT-MAE v2, Eq. 16", RETRIEVER + ".ranking_losses", "== ", "!= "),
    ("CoT-MAE v2, Eq. 16", "repro.retrieval.nn.contrastive:divergence", "log_p - log_q", "log_p + log_q"),
    ("CoT-MAE v2, Eq. 16", RETRIEVER + ".ranking_losses", '["teacher"] /', '["teacher"] *'),
    ("CoT-MAE v2, FLOPS", RETRIEVER + ".flops_losses", "weight * ramp", "-weight * ramp"),
    ("CoT-MAE v2, FLOPS", SPARSE + "_MeanMagnitude.forward", "mean(dim=0)", "sum(dim=0)"),
]


@pytest.mark.parametrize(("equation", "function", "old", "new"), CHANGED)
def test_a_changed_equation_fails_its_loops(start, equation, function, old, new):
    with mutated(Mutation(function, old, new)), pytest.raises((AssertionError, ArithmeticError, ValueError)):
        HELD[equation](start)


@pytest.mark.parametrize("equation", HELD)
def test_the_equation_as_it_is_passes_them(start, equation):
    HELD[equation](start)
