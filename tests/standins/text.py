"""Invented English-looking text: words of syllables among function words, by Zipf's law."""

import functools
import itertools
import random

ONSETS = "b c d f g h j k l m n p r s t v w z ch sh th st br tr pl cr".split()  # noqa: SIM905
VOWELS = "a e i o u ea ou ai".split()  # noqa: SIM905
CODAS = ["", *"n r s t l nd ck ing ed ly tion".split()]  # noqa: SIM905
FUNCTION_WORDS = """
the of and to in a is that for it was on are as with be by this from at or an have not you which can their has
but what were when who how where why there more about
""".split()  # noqa: SIM905 (a list of quoted words reads worse)
ENDS = (".", ".", ".", "?", "!", " é.", " — “so”.", ", 3.5 %.", " CafÃ©.")  # the last as MS MARCO breaks it
INVENTED = 20_000
POOL = 4_000


@functools.cache
def words() -> tuple[str, ...]:
    """All words, the most frequent first; the same for every seed, so that one vocabulary fits all."""
    draw = random.Random(0)
    known = dict.fromkeys(FUNCTION_WORDS)
    while len(known) < INVENTED:
        stem = "".join(draw.choice(ONSETS) + draw.choice(VOWELS) for _ in range(draw.choice((1, 2, 2, 2, 3))))
        known.setdefault(stem + draw.choice(CODAS))
    return tuple(known)


class Text:
    def __init__(self, seed: int, family: str):
        self.draw = random.Random(f"{seed}/{family}")
        weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(len(words()))))
        self._pool = [self._new_sentence(weights) for _ in range(POOL)]

    def passage(self, sentences: int) -> str:
        return " ".join(self.draw.choices(self._pool, k=sentences))

    def between(self, fewest: int, most: int) -> str:
        return self.passage(self.draw.randint(fewest, most))

    def title(self) -> str:
        """One to four words with capitals."""
        return " ".join(self.draw.choices(words(), k=self.draw.randint(1, 4))).title()

    def query(self, about: str = "") -> str:
        """Three to eight words out of a passage, in lower case."""
        taken = [word for word in (about or self.passage(1)).lower().split() if word.isalpha()]
        start = self.draw.randrange(max(1, len(taken) - 8))
        return " ".join(taken[start : start + self.draw.randint(3, 8)])

    def _new_sentence(self, weights: list[float]) -> str:
        sentence = " ".join(self.draw.choices(words(), cum_weights=weights, k=self.draw.randint(7, 15)))
        return sentence[0].upper() + sentence[1:] + self.draw.choice(ENDS)
