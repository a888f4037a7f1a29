"""Words of WordPiece and byte-level texts, and a fixed share of them chosen at random."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from repro.errors import UsageError

SPACES = ("Ġ", "Ċ", "ĉ", "č")  # how byte-level vocabularies write space, line feed, tab, carriage return
UNITS = ("whole-word", "bernoulli")


@dataclasses.dataclass(frozen=True)
class WholeWords:
    """The words of a vocabulary of V entries.

    Attributes:
        continues: (V,), whether an entry continues the word before it, e.g. ``##ing``.
        frames: (V,), whether an entry is [CLS] or [SEP], which are not words and end the word before them.
        special: (V,), whether an entry is a special token. A special token inside a text, e.g. [UNK], can be
            chosen as a word but is not replaced.
    """

    continues: np.ndarray
    frames: np.ndarray
    special: np.ndarray

    @classmethod
    def of(cls, tokenizer) -> WholeWords:
        """Return the words of a fast tokenizer: WordPiece, or byte-level BPE, where a word begins with its
        space and includes the marks after it. Raises UsageError for another kind."""
        entries = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        kind = type(tokenizer.backend_tokenizer.model).__name__
        if kind == "WordPiece":
            prefix = tokenizer.backend_tokenizer.model.continuing_subword_prefix
            continues = np.array([entry.startswith(prefix) for entry in entries])
        elif kind == "BPE" and any(entry.startswith(SPACES[0]) for entry in entries):
            continues = np.array([not entry.startswith(SPACES) for entry in entries])
        else:
            raise UsageError(
                f"whole words cannot be found in a {kind} vocabulary (known: WordPiece, byte-level BPE)"
            )
        frames, special = np.zeros(len(entries), bool), np.zeros(len(entries), bool)
        frames[[tokenizer.cls_token_id, tokenizer.sep_token_id]] = True
        special[tokenizer.all_special_ids] = True
        return cls(continues & ~special, frames, special)

    def numbers(self, input_ids: np.ndarray, lengths: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Return the number of each token's word, from 0, and -1 for [CLS] and [SEP]: (T,) to (T,).

        ``lengths`` has the tokens of each of N texts end to end. Numbers continue from text to text.
        """
        frames = self.frames[input_ids]
        first = ~self.continues[input_ids]
        first[1:] |= self.special[input_ids[:-1]]  # a word does not continue a special token
        begins = np.zeros(1, int) if lengths is None else np.cumsum(lengths) - lengths
        first[begins[begins < len(first)]] = True
        return np.where(frames, -1, np.cumsum(first & ~frames) - 1)

    def chosen(
        self,
        input_ids: np.ndarray,
        lengths: Sequence[int] | np.ndarray,
        *,
        rate: float,
        generators: Sequence[np.random.Generator],
        already: np.ndarray | None = None,
        quota: str = "all",
        most: int | None = None,
    ) -> np.ndarray:
        """Return a mask of whole words of each text, chosen in random order until a quota of tokens is met.

        The quota is ``rate`` times a count, rounded half to even, at least one. A word with more tokens than
        the rest of the quota is skipped, and the next word is tried. The rule is that of Google's BERT, as in
        transformers and Condenser.

        Args:
            input_ids: (T,), N texts end to end, with [CLS] and [SEP].
            lengths: (N,), tokens of each.
            rate: in 0..1.
            generators: one for each text, the only source of randomness.
            already: (T,), mask of the tokens of words chosen before, which count towards the quota and stay
                chosen.
            quota: the count that ``rate`` refers to: ``all`` tokens, ``text``, the tokens without [CLS] and
                [SEP] (then no special token can be chosen), or ``words``, the number of words.
            most: the maximum of the quota, or None.

        Returns (T,) bool, True at tokens of chosen words, False at every special token.
        """
        words = self.numbers(input_ids, lengths)
        inside = words >= 0
        sizes = np.bincount(words[inside]).tolist()
        taken = np.zeros(len(sizes) + 1, bool)  # the last is that of [CLS] and [SEP], number -1
        done = [0] * len(lengths)
        if already is not None:
            taken[words[already]], done = True, _sums(already, lengths)
        passed = taken.tolist()
        if quota == "text":
            for word in words[self.special[input_ids] & inside].tolist():
                passed[word] = True
        ends = np.append(0, np.maximum.accumulate(words) + 1)[_ends(lengths)].tolist()  # of each text's words
        counts = lengths if quota == "all" else _sums(inside, lengths) if quota == "text" else np.diff(ends)
        for generator, count, before, first, end in zip(
            generators, counts, done, ends[:-1], ends[1:], strict=True
        ):
            left = max(1, round(rate * int(count)))
            left = (left if most is None else min(most, left)) - before
            for word in (first + generator.permutation(end - first)).tolist():
                if left <= 0:
                    break
                if sizes[word] <= left and not passed[word]:
                    taken[word] = True
                    left -= sizes[word]
        return taken[words] & ~self.special[input_ids]

    def drawn(
        self,
        input_ids: np.ndarray,
        lengths: Sequence[int] | np.ndarray,
        *,
        unit: str,
        rate: float,
        generators: Sequence[np.random.Generator],
        quota: str = "all",
    ) -> np.ndarray:
        """Return a mask of the tokens to hide in N texts end to end, (T,) bool, False at special tokens.
        ``unit`` is ``whole-word``, see ``chosen``, or ``bernoulli``: each token with probability ``rate``.
        """
        if unit == "whole-word":
            return self.chosen(input_ids, lengths, rate=rate, generators=generators, quota=quota)
        return (_fates(lengths, generators) < rate) & ~self.special[input_ids]


def _ends(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(lengths))


def _sums(flags: np.ndarray, lengths: Sequence[int] | np.ndarray) -> list[int]:
    return np.diff(np.append(0, np.cumsum(flags))[_ends(lengths)]).tolist()


def _fates(lengths: Sequence[int] | np.ndarray, generators: Sequence[np.random.Generator]) -> np.ndarray:
    drawn = [generator.random(n) for generator, n in zip(generators, lengths, strict=True)]
    return np.concatenate(drawn)


def covered(
    input_ids: np.ndarray,
    lengths: Sequence[int] | np.ndarray,
    chosen: np.ndarray,
    *,
    tokenizer,
    mask: float,
    random: float,
    generators: Sequence[np.random.Generator],
) -> np.ndarray:
    """Return the ids of texts with the chosen tokens hidden as in BERT (Devlin et al. 2019, Appendix A.1).

    Args:
        input_ids: (T,), N texts end to end.
        lengths: (N,), tokens of each.
        chosen: (T,) bool.
        tokenizer: its [MASK] and the size of its vocabulary.
        mask, random: the shares of chosen tokens that become [MASK], and that become a random token. The
            others are unchanged.
        generators: one for each text, the only source of randomness.

    Returns (T,).
    """
    assert 0 <= mask + random <= 1, (mask, random)
    fate, entries = _fates(lengths, generators), len(tokenizer)
    others = [generator.integers(0, entries, n) for generator, n in zip(generators, lengths, strict=True)]
    unmasked = np.where(fate < mask + random, np.concatenate(others), input_ids)
    return np.where(chosen, np.where(fate < mask, tokenizer.mask_token_id, unmasked), input_ids)
