"""CPDAE's losses beside each other at their real shapes, under each reading of their reductions (Eqs. 4-6).

How far λ L_CL moves what L_REC moves: at the text vectors h, while the decoder learns to reconstruct; and
what the contrast then changes of it, trained with and without. The texts are made up, with words as often as
Zipf's law has them, a few in nearly every text; instead of a Transformer each masked version of a text has a
vector of its own. Seeds are fixed, and nothing is timed.
"""

from __future__ import annotations

import argparse
from itertools import product
from types import SimpleNamespace

import torch
from report import write

from papers.cpdae.decoder import MLPDecoder
from papers.cpdae.distribution_contrast import distribution_contrast, jensen_shannon, word_distributions
from papers.cpdae.reconstruction import text_losses, text_mean

WIDTH = 768
WORDS, COMMON = 180, 40  # distinct words of a text of 510 tokens, and those that nearly every text has
WEIGHT = 0.1  # λ, §4.1.3
REDUCTIONS = tuple(product(("sum", "mean"), ("sum", "mean")))  # of Eq. 4, of Eq. 5
READ = {"second_term": "binary", "weights": None, "both_terms": False}
CONTRAST = {"divergence_scale": 1.0, "temperature": 1.0, "direction": "both"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--texts", type=int, default=64, help="m of Eq. 5, for the gradients")
    options.add_argument("--steps", type=int, default=40, help="of the decoder before the last gradients")
    options.add_argument("--few", type=int, default=8, help="m of Eq. 5, for the trainings")
    options.add_argument("--trained", type=int, default=40, help="steps of each training")
    options.add_argument("--vocabulary", type=int, default=30_522, help="BERT's")
    given = options.parse_args()
    y = made_up(given.texts, given.vocabulary)
    write("balance of CPDAE's losses, gradients at h", list(gradients(y, given.steps)))
    y = made_up(given.few, given.vocabulary)
    write("balance of CPDAE's losses, with the contrast and without", list(trainings(y, given)))


def made_up(texts: int, vocabulary: int) -> torch.Tensor:
    """y of Eq. 4, (m, V): the common words come first, each in 95 of 100 texts, others by Zipf's law."""
    generator = torch.Generator().manual_seed(0)
    y = torch.zeros(texts, vocabulary)
    ranks = torch.arange(1, vocabulary - COMMON + 1, dtype=torch.float64)
    for row in y:
        rare = torch.multinomial(1 / ranks, WORDS - COMMON, generator=generator)
        row[COMMON + rare] = 1
        row[:COMMON] = (torch.rand(COMMON, generator=generator) < 0.95).float()
    return y


class Model:
    """A vector for each masked version of a text, and one decoder for all."""

    def __init__(self, y: torch.Tensor):
        torch.manual_seed(1)
        sizes = {"hidden_size": WIDTH, "vocab_size": y.shape[1]}
        config = SimpleNamespace(**sizes, layer_norm_eps=1e-12, initializer_range=0.02)
        self.decoder = MLPDecoder(config, layout="mlm-head")
        texts = torch.randn(len(y), WIDTH).repeat(2, 1)
        self.h = (texts + 0.3 * torch.randn(2 * len(y), WIDTH)).requires_grad_()  # (2m, H)
        self.y = y.repeat(2, 1)
        self.optimizer = torch.optim.Adam([self.h, *self.decoder.parameters()], lr=1e-3)

    def losses(self, *, reconstruction: str, contrast: str, weight: float) -> tuple[torch.Tensor, ...]:
        """L_REC and λ L_CL."""
        z = self.decoder(self.h)  # (2m, V)
        rebuilt = text_mean(
            text_losses(z, self.y, **READ), reduction=reconstruction, vocabulary_size=self.y.shape[1]
        )
        if weight == 0:
            return rebuilt, rebuilt.new_zeros(())
        versions = word_distributions(z, normalisation="sum").chunk(2)
        return rebuilt, weight * distribution_contrast(*versions, **CONTRAST, reduction=contrast)

    def step(self, **how) -> None:
        """One step of Adam on the sum of both, the gradient clipped to a norm of 1 as in training."""
        self.optimizer.zero_grad()
        sum(self.losses(**how)).backward()
        torch.nn.utils.clip_grad_norm_([self.h, *self.decoder.parameters()], 1.0)
        self.optimizer.step()


def gradients(y: torch.Tensor, steps: int):
    """|∂ λ L_CL / ∂h| over |∂ L_REC / ∂h| of each combination, as the decoder learns."""
    model = Model(y)
    for step in range(steps + 1):
        if step in (0, steps // 10, steps):
            rebuilt, contrast = model.losses(reconstruction="sum", contrast="mean", weight=WEIGHT)
            of = [
                torch.autograd.grad(one, model.h, retain_graph=True)[0].norm() for one in (rebuilt, contrast)
            ]
            ratio = (of[1] / of[0]).item()  # Eq. 4 as a sum, Eq. 5 as a mean
            scale = {("sum", "mean"): 1.0, ("sum", "sum"): 2 * len(y), ("mean", "mean"): y.shape[1]}
            scale["mean", "sum"] = 2 * len(y) * y.shape[1]
            named = {f"Eq. 4 {a}, Eq. 5 {b}": f"{ratio * scale[a, b]:.2g}" for a, b in REDUCTIONS}
            yield {"steps": step, "L_REC, a text": f"{rebuilt.item():.0f}", **named}
        model.step(reconstruction="sum", contrast="mean", weight=0.0)


def trainings(y: torch.Tensor, given: argparse.Namespace):
    """Distances of word distributions and the probability of common words, with and without the contrast."""
    for reconstruction, contrast in REDUCTIONS:
        told = {}
        for weight in (0.0, WEIGHT):
            model = Model(y)
            for _ in range(given.trained):
                model.step(reconstruction=reconstruction, contrast=contrast, weight=weight)
            told[weight] = described(model, len(y))
        columns = {name: f"{told[0.0][name]:.3f} → {told[WEIGHT][name]:.3f}" for name in told[WEIGHT]}
        yield {"Eq. 4": reconstruction, "Eq. 5": contrast, **columns}


@torch.no_grad()
def described(model: Model, texts: int) -> dict[str, float]:
    """Numbers of a training, over all versions of its texts."""
    z = model.decoder(model.h)
    divergence = jensen_shannon(word_distributions(z, normalisation="sum"))  # (2m, 2m)
    same = torch.eye(texts).repeat(2, 2).bool()
    own = same & ~torch.eye(2 * texts).bool()
    sure, there = z.sigmoid(), model.y.bool()
    return {
        "JS to other texts": divergence[~same].mean().item(),
        "JS to the other version": divergence[own].mean().item(),
        "probability of common words": sure[:, :COMMON].mean().item(),
        "of a text's other words": sure[:, COMMON:][there[:, COMMON:]].mean().item(),
    }


if __name__ == "__main__":
    main()
