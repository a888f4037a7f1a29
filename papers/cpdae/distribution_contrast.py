"""Contrast of word distributions by Jensen-Shannon divergence (§3.2.2, Eq. 5), and of vectors (CPDAE_R)."""

import math

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional

from repro.errors import UsageError, check_known
from repro.retrieval.nn.contrastive import similarities

NORMALISATIONS = ("sum", "softmax")
DIRECTIONS = ("both", "first")
# numbers held at once; half a megabyte, 8 words of 128 x 128 pairs, stays in a core's cache
BLOCK = {"cpu": 2**17, "cuda": 2**24}


def word_distributions(z: torch.Tensor, *, normalisation: str) -> torch.Tensor:
    """Return z~ of §3.2.2 from z of Eq. 2, (N, V) to (N, V), in float32 or above.

    Reading ``distribution-normalisation``: ``sum``, the sigmoid outputs of Eq. 3 divided by their sum, or
    ``softmax`` of the scores.
    """
    check_known("normalisation", normalisation, valid=NORMALISATIONS)
    z = z.to(torch.promote_types(z.dtype, torch.float32))
    with torch.autocast(z.device.type, enabled=False):
        # s / sum s = exp(log s) / sum exp(log s), which stays defined where every sigmoid is 0 in float32
        return functional.softmax(functional.logsigmoid(z) if normalisation == "sum" else z, dim=-1)


def jensen_shannon(p: torch.Tensor) -> torch.Tensor:
    """Return JS(p_i, p_j) of every pair of N distributions, in nats: (N, V) to (N, N), between 0 and ln 2.

        JS(P, Q) = 1/2 sum_x p(x) log(p(x) / m(x)) + 1/2 sum_x q(x) log(q(x) / m(x)),  m = (p + q) / 2

    0 log 0 is 0, and so is the gradient at an entry of 0, its limit behind a sigmoid or a softmax. No (N, N,
    V) tensor is made.

    Args:
        p: (N, V), rows that sum to 1, float32 or float64.
    """
    return _JensenShannon.apply(p)


class _JensenShannon(torch.autograd.Function):
    """Computes all pairs by blocks of the vocabulary. The backward pass computes the logarithms again."""

    @staticmethod
    def forward(ctx, p: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(p)
        ctx.has_zeros = bool((p == 0).any())
        halves = p.new_zeros(len(p), len(p))  # (N, N): sum_x p_i log(p_i / m_ij)
        for words in _blocks(p):
            halves += _log_ratios(words, ctx.has_zeros).mul_(words[:, :, None]).sum(dim=0)
        return (halves + halves.T) / 2

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        (p,) = ctx.saved_tensors
        pairs = (gradient + gradient.T) / 2  # (N, N): p_i is in JS_ij and in JS_ji
        # d JS(P, Q) / d p(x) = 1/2 log(p(x) / m(x)): what comes through m cancels
        ratios = (_log_ratios(words, ctx.has_zeros) for words in _blocks(p))
        return torch.cat([block.mul_(pairs).sum(dim=2) for block in ratios]).T


def _blocks(p: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return p.T.contiguous().split(max(1, BLOCK["cpu" if p.device.type == "cpu" else "cuda"] // len(p) ** 2))


def _log_ratios(words: torch.Tensor, has_zeros: bool) -> torch.Tensor:
    """Return log(p_i / m_ij), (v, N) to (v, N, N), and 0 where p_i is 0."""
    own = words[:, :, None]
    ratios = (own / (own + words[:, None, :])).mul_(2).log_()
    return ratios.masked_fill_(own == 0, 0.0) if has_zeros else ratios


def distribution_contrast(
    first: torch.Tensor,
    second: torch.Tensor,
    *,
    temperature: float,
    divergence_scale: float,
    direction: str,
    reduction: str,
) -> torch.Tensor:
    """Return Eq. 5 with sim = -``divergence_scale`` * JS (reading ``divergence-scale``, 2 as Eq. 7 prints).

    Args:
        first, second: z~' and z~'', (m, V): the word distributions of both masked versions of m texts.
        temperature, direction, reduction: see ``version_contrast``.
    """
    scores = -divergence_scale * jensen_shannon(torch.cat((first, second)))  # (2m, 2m)
    return version_contrast(scores, temperature=temperature, direction=direction, reduction=reduction)


def representation_contrast(
    first: torch.Tensor,
    second: torch.Tensor,
    *,
    similarity: str,
    temperature: float,
    direction: str,
    reduction: str,
) -> torch.Tensor:
    """Return the variant CPDAE_R: Eq. 5 on the vectors h, with a dot product or a cosine instead of -JS.

    Args:
        first, second: h' and h'', (m, H), Eq. 1.
        similarity: ``dot`` or ``cosine`` (reading ``representation-similarity``).
        temperature, direction, reduction: see ``version_contrast``.
    """
    both = torch.cat((first, second))
    scores = similarities(both, both, similarity=similarity)  # (2m, 2m)
    return version_contrast(scores, temperature=temperature, direction=direction, reduction=reduction)


def version_contrast(
    scores: torch.Tensor, *, temperature: float, direction: str, reduction: str
) -> torch.Tensor:
    """Return the loss that draws every version of a text to its other version and away from all other texts.

        L_CL = - sum_i log( e(i, i*) / sum_{k != i} e(i, k) ),  e(i, k) = exp(sim(i, k) / tau)

    k runs over all 2m versions except i, including i*. Reading ``contrastive-direction``: ``first``, i over
    the m first versions as the printed sum does, or ``both``, i over all 2m. ``mean`` divides by the number
    of i (reading ``contrastive-reduction``).

    Args:
        scores: sim, (2m, 2m). Row i and row m + i are the versions of text i.
        temperature: tau, above 0 (reading ``contrastive-temperature``).
        direction: ``both`` or ``first``.
        reduction: ``mean`` or ``sum``.
    """
    check_known("direction of the contrast", direction, valid=DIRECTIONS)
    if temperature <= 0:
        raise UsageError(f"the temperature is {temperature}. Give a number above 0.")
    assert reduction in ("mean", "sum"), reduction
    total = len(scores)
    anchors = total if direction == "both" else total // 2
    own = torch.eye(total, dtype=torch.bool, device=scores.device)
    logits = (scores / temperature).masked_fill(own, -math.inf)[:anchors]  # (A, 2m)
    targets = (torch.arange(anchors, device=scores.device) + total // 2) % total  # (A,)
    return functional.cross_entropy(logits, targets, reduction=reduction)
