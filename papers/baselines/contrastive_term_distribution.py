"""Scores of a text's words from the attention over its tokens (B-PROP)."""

import torch

from repro.errors import check_known

CONTRASTS = ("cross-entropy", "difference")


def check_contrast(contrast: str) -> str:
    check_known("contrast of distributions", contrast, valid=CONTRASTS)
    return contrast


def word_attention(attention: torch.Tensor, token_words: torch.Tensor, *, words: int) -> torch.Tensor:
    """Return the attention on each word, summed over its tokens.

    Args:
        attention: (N, L).
        token_words: (N, L), the word 0..W-1 that a token counts for, or -1 for none.
        words: W.

    Returns:
        (N, W).
    """
    sums = attention.new_zeros(len(attention), words + 1)  # the last sums tokens of no word
    return sums.scatter_add(1, token_words.masked_fill(token_words < 0, words), attention)[:, :words]


def contrastive_term_scores(
    attention: torch.Tensor,
    collection: torch.Tensor,
    word_mask: torch.Tensor,
    *,
    saturation: float | None,
    contrast: str,
    counted: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return scores c of the W words of each text, higher for words that are more salient than in any text.

        p(w) = g(a(w)) / sum_v g(a(v)),  g(a) = a / (a + k),  v over the counted words
        c(w) = -p(w) log2 r(w)   or   c(w) = max(0, p(w) - r(w))

    Readings ``b-prop-saturation``: k, null for g(a) = a, and ``b-prop-contrast``: ``cross-entropy`` for the
    first c, ``difference`` for the second. r is the words' distribution in the collection.

    Args:
        attention: a, (N, W), not negative. A text with words has some attention on them.
        collection: r, (N, W), in (0, 1] where there is a word.
        word_mask: (N, W), True where there is a word to score.
        counted: (N, W), True for the terms of the sum (reading: b-prop-normalisation). None for the
            words.

    Returns (N, W), 0 where there is no word to score.
    """
    attention = attention.masked_fill(~(word_mask if counted is None else counted), 0.0)
    raised = attention if saturation is None else attention / (attention + saturation)
    totals = raised.sum(dim=1, keepdim=True)
    p = raised / totals.masked_fill(totals == 0, 1.0)  # (N, W); a text without words has zeros
    if check_contrast(contrast) == "cross-entropy":
        c = -p * collection.masked_fill(~word_mask, 1.0).log2()
    else:
        c = (p - collection).clamp(min=0)
    return c.masked_fill(~word_mask, 0.0)
