"""BERT's token masking (Devlin et al. 2019, Appendix A.1), drawn from a numpy Generator."""

from collections.abc import Sequence

import numpy as np
import torch

from repro.nn.text import padded
from repro.nn.token_cross_entropy import IGNORED


def masked_tokens(
    input_ids: np.ndarray,
    *,
    special_ids: np.ndarray,
    mask_id: int,
    vocabulary_size: int,
    rate: float,
    mask: float,
    random: float,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """One text with some tokens replaced, and what stood there.

    Each token that is not special is selected with probability ``rate``, independently of the others, as
    transformers' DataCollatorForLanguageModeling does; a short text may thus have none. A selected token
    becomes [MASK] with probability ``mask``, any token of the vocabulary with probability ``random``, and
    stays otherwise.

    Args:
        input_ids: (n,), with its special tokens.
        special_ids: ids that are never selected.
        mask_id: the id of [MASK].
        vocabulary_size: V; replacements are drawn from 0..V-1.
        rate, mask, random: BERT has 0.15, 0.8, 0.1; ``mask`` + ``random`` <= 1.
        generator: the only source of randomness.

    Returns:
        the ids to feed, (n,), and the labels, (n,): the token at selected positions, IGNORED elsewhere.
    """
    assert 0 <= rate <= 1 and 0 <= mask + random <= 1, (rate, mask, random)
    selected = generator.random(len(input_ids)) < rate
    selected &= ~np.isin(input_ids, special_ids)
    fate = generator.random(len(input_ids))
    others = generator.integers(0, vocabulary_size, len(input_ids))
    replaced = np.where(fate < mask, mask_id, np.where(fate < mask + random, others, input_ids))
    return np.where(selected, replaced, input_ids), np.where(selected, input_ids, IGNORED)


def masked_texts(
    texts: Sequence[np.ndarray],
    *,
    tokenizer,
    generators: Sequence[np.random.Generator],
    rate: float,
    mask: float,
    random: float,
) -> dict[str, torch.Tensor]:
    """A batch of token lists, framed by [CLS] and [SEP], as it is and as masked.

    Args:
        texts: N of (n,), without special tokens around.
        tokenizer: BERT's, or one with the same special tokens.
        generators: one for each text, so that its mask does not depend on the batch it is in.
        rate, mask, random: see ``masked_tokens``.

    Returns:
        ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask``, all (N, L) int64.
    """
    special_ids, size = np.array(tokenizer.all_special_ids), len(tokenizer)
    clean = [np.concatenate(([tokenizer.cls_token_id], text, [tokenizer.sep_token_id])) for text in texts]
    pairs = [
        masked_tokens(
            ids,
            special_ids=special_ids,
            mask_id=tokenizer.mask_token_id,
            vocabulary_size=size,
            rate=rate,
            mask=mask,
            random=random,
            generator=generator,
        )
        for ids, generator in zip(clean, generators, strict=True)
    ]
    return {
        "clean_ids": padded(clean, value=tokenizer.pad_token_id),
        "masked_ids": padded([masked for masked, _ in pairs], value=tokenizer.pad_token_id),
        "labels": padded([labels for _, labels in pairs], value=IGNORED),
        "attention_mask": padded([np.ones_like(ids) for ids in clean], value=0),
    }
