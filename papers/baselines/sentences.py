"""Sentences of a text given as tokens only."""

from collections.abc import Collection

import numpy as np

from repro.errors import UsageError


def sentence_ends_of(tokenizer, tokens: Collection[str]) -> np.ndarray:
    """Return a mask of the vocabulary, (V,), True for those ``tokens`` that it contains. They end a sentence.
    Raises UsageError if it contains none."""
    ends = np.zeros(len(tokenizer), dtype=bool)
    for token in tokens:
        number = tokenizer.convert_tokens_to_ids(token)
        if number is not None and number != tokenizer.unk_token_id:
            ends[number] = True
    if not ends.any():
        shown = ", ".join(map(repr, tokens)) or "none given"
        raise UsageError(f"no token that ends a sentence ({shown}) is in the model's vocabulary")
    return ends


def sentences(input_ids: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Cut a text into sentences, without a gap between them.

    A run of ending tokens (e.g. ``. . .``, ``?!``) ends one sentence, and the rest after the last one is a
    sentence. A full stop inside an abbreviation or a number also ends one (reading: sentence-splitter).

    Args:
        input_ids: (n,), n >= 1, without special tokens.
        ends: (V,), True for tokens that end a sentence.

    Returns (S, 2), S >= 1: first token, and one past the last.
    """
    ending = ends[input_ids]
    last = ending & ~np.append(ending[1:], False)
    last &= ~np.logical_and.accumulate(ending)  # nothing but marks so far
    bounds = np.unique([0, *(np.flatnonzero(last) + 1).tolist(), len(input_ids)])
    return np.stack((bounds[:-1], bounds[1:]), axis=1)
