"""Prediction of all of a text's words at once (§3.2.1, Eqs. 3-4)."""

import torch
from torch.nn import functional

from repro.errors import check_known

SECOND_TERMS = ("binary", "printed")
REDUCTIONS = ("sum", "mean")


def text_losses(
    z: torch.Tensor, y: torch.Tensor, *, second_term: str, weights: torch.Tensor | None, both_terms: bool
) -> torch.Tensor:
    """Return Eq. 4 of each text, (N,), in float32 or above. The loss is their ``text_mean``.

        L_REC = - sum_j w_j ( y_j log s_j + (1 - y_j) log(1 - s_j) ),  s_j = sigmoid(z_j)  (Eq. 3)

    The printed second term also has log s_j, so that the labels cancel out (reading
    ``reconstruction-second-term``).

    Args:
        z: (N, V), any float type. The logarithm is taken in float32 at least.
        y: (N, V), 1 or True where the text has the word, 0 elsewhere.
        second_term: ``binary`` or ``printed``.
        weights: w, (V,). None means 1 for all words.
        both_terms: whether w also weighs words that do not occur (reading ``idf-weights``).
    """
    check_known("second term of Eq. 4", second_term, valid=SECOND_TERMS)
    z = z.to(torch.promote_types(z.dtype, torch.float32))
    with torch.autocast(z.device.type, enabled=False):
        signs = torch.where(y.bool(), 1.0, -1.0) if second_term == "binary" else 1.0
        terms = -functional.logsigmoid(signs * z)  # (N, V): 1 - sigmoid(z) = sigmoid(-z)
        if weights is not None:
            terms = terms * (weights if both_terms else torch.where(y.bool(), weights, 1.0))
        return terms.sum(dim=1)


def text_mean(sums: torch.Tensor, *, reduction: str, vocabulary_size: int) -> torch.Tensor:
    """Return the mean of the N sums of ``text_losses``, (N,) to (). With ``reduction`` ``mean`` it is also
    divided by V, with ``sum`` it is not (reading ``reconstruction-reduction``)."""
    check_known("reduction of the reconstruction", reduction, valid=REDUCTIONS)
    return sums.mean() / vocabulary_size if reduction == "mean" else sums.mean()


def word_labels(
    input_ids: torch.Tensor, attention_mask: torch.Tensor, *, vocabulary_size: int, left_out: list[int]
) -> torch.Tensor:
    """Return y of Eq. 4: whether each text contains each entry of the vocabulary, (N, V) bool.

    Args:
        input_ids, attention_mask: (N, L).
        vocabulary_size: V.
        left_out: entries that do not count as words (reading ``reconstruction-special-tokens``).
    """
    y = input_ids.new_zeros((len(input_ids), vocabulary_size + 1), dtype=torch.bool)
    y.scatter_(1, input_ids.masked_fill(attention_mask == 0, vocabulary_size), True)  # padding: past the end
    for entry in left_out:  # few, and a list of them would have to be copied to a GPU
        y[:, entry] = False
    return y[:, :vocabulary_size]
