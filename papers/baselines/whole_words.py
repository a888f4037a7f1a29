"""Words of WordPiece and byte-level texts, and a fixed share of them chosen at random."""

from __future__ import annotations

import dataclasses

import numpy as np

from repro.errors import UsageError

SPACES = ("Ġ", "Ċ", "ĉ", "č")  # how byte-level vocabularies write space, line feed, tab, carriage return
UNITS = ("whole-word", "bernoulli")


@dataclasses.dataclass(frozen=True)
class WholeWords:
    """The words of a vocabulary of V entries.

    Attributes:
        continues: (V,), whether an entry goes on with the word before it.
        frames: (V,), [CLS] and [SEP]: no words, and no word goes on over one.
        special: (V,), all special tokens. One inside a text, [UNK] say, is a word that can be chosen and
            counts as such, but is then left as it is.
    """

    continues: np.ndarray
    frames: np.ndarray
    special: np.ndarray

    @classmethod
    def of(cls, tokenizer) -> WholeWords:
        """For a fast tokenizer: WordPiece, with its prefix of a continuation (``##``), or byte-level BPE,
        where a word begins with its space and takes in the marks that are written against it.

        Raises UsageError for a tokenizer of another kind.
        """
        entries = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        kind = type(tokenizer.backend_tokenizer.model).__name__
        if kind == "WordPiece":
            prefix = tokenizer.backend_tokenizer.model.continuing_subword_prefix
            continues = np.array([entry.startswith(prefix) for entry in entries])
        elif kind == "BPE" and any(entry.startswith(SPACES[0]) for entry in entries):
            continues = np.array([not entry.startswith(SPACES) for entry in entries])
        else:
            raise UsageError(
                f"whole words cannot be told in a {kind} vocabulary; known: WordPiece, byte-level BPE"
            )
        frames, special = np.zeros(len(entries), bool), np.zeros(len(entries), bool)
        frames[[tokenizer.cls_token_id, tokenizer.sep_token_id]] = True
        special[tokenizer.all_special_ids] = True
        return cls(continues & ~special, frames, special)

    def numbers(self, input_ids: np.ndarray) -> np.ndarray:
        """The number of each token's word, from 0, and -1 for [CLS] and [SEP]: (n,) to (n,)."""
        frames = self.frames[input_ids]
        first = ~self.continues[input_ids]
        first[1:] |= self.special[input_ids[:-1]]  # nothing goes on with a special token
        first[:1] = True
        return np.where(frames, -1, np.cumsum(first & ~frames) - 1)

    def chosen(
        self,
        input_ids: np.ndarray,
        *,
        rate: float,
        generator: np.random.Generator,
        already: np.ndarray | None = None,
        quota: str = "all",
        most: int | None = None,
    ) -> np.ndarray:
        """Whole words, in random order, until a quota of tokens is met.

        The quota is ``rate`` times a count, rounded half to even, at least one. A word with more tokens
        than are left of it is passed over and the next one tried, so that it is met exactly wherever the
        words left allow; the rule is that of Google's BERT, as transformers and Condenser have it.

        Args:
            input_ids: (n,), with [CLS] and [SEP].
            rate: in 0..1.
            generator: the only source of randomness.
            already: (n,), tokens of words chosen before, which count towards the quota and stay chosen.
            quota: of what it is a share: ``all`` n tokens; those of the ``text``, without [CLS] and [SEP],
                where no special token can be chosen; or the text's ``words``.
            most: the largest quota, None for any.

        Returns:
            (n,) bool; False at every special token.
        """
        words = self.numbers(input_ids)
        sizes = np.bincount(words[words >= 0]).tolist()
        counts = {"all": len(input_ids), "text": int((words >= 0).sum()), "words": len(sizes)}
        left = max(1, round(rate * counts[quota]))
        left = left if most is None else min(most, left)
        taken = np.zeros(len(sizes) + 1, bool)  # the last is that of [CLS] and [SEP], number -1
        order = generator.permutation(len(sizes))
        if quota == "text":
            specials = np.unique(words[self.special[input_ids] & (words >= 0)])
            order = order[~np.isin(order, specials)]
        if already is not None:
            taken[words[already]] = True
            left -= int(already.sum())
            order = order[~taken[order]]
        for word in order.tolist():
            if left <= 0:
                break
            if sizes[word] <= left:
                taken[word] = True
                left -= sizes[word]
        return taken[words] & ~self.special[input_ids]

    def drawn(
        self,
        input_ids: np.ndarray,
        *,
        unit: str,
        rate: float,
        generator: np.random.Generator,
        quota: str = "all",
    ) -> np.ndarray:
        """Tokens to mask by ``whole-word``, see ``chosen``, or ``bernoulli``, each by itself with
        probability ``rate``: (n,) to (n,) bool, False at every special token."""
        if unit == "whole-word":
            return self.chosen(input_ids, rate=rate, generator=generator, quota=quota)
        return (generator.random(len(input_ids)) < rate) & ~self.special[input_ids]


def covered(
    input_ids: np.ndarray,
    chosen: np.ndarray,
    *,
    tokenizer,
    mask: float,
    random: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """A text whose chosen tokens are hidden as BERT hides them (Devlin et al. 2019, Appendix A.1).

    Args:
        input_ids: (n,).
        chosen: (n,) bool.
        tokenizer: its [MASK] and the size of its vocabulary.
        mask, random: the shares of the chosen that become [MASK], and any token; the rest stays.
        generator: the only source of randomness.
    """
    assert 0 <= mask + random <= 1, (mask, random)
    fate = generator.random(len(input_ids))
    others = generator.integers(0, len(tokenizer), len(input_ids))
    unmasked = np.where(fate < mask + random, others, input_ids)
    return np.where(chosen, np.where(fate < mask, tokenizer.mask_token_id, unmasked), input_ids)
