"""Parsing and rounding of printed numbers. E.g. 0.342 has three decimals."""

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cache

_NUMBER = re.compile(
    r"""\s*(?P<bound>[<>≤≥~])?
        (?P<number>[-+−]?\d+(?:\.\d+)?)
        (?P<unit>GB|MB|k|%)?
        \s*(?P<marks>[*†‡]*)
        (?:\s*\((?P<delta>[-+−]\d+(?:\.\d+)?)\))?\s*""",
    re.VERBOSE,
)
DASHES = frozenset({"-", "–", "—", ""})


@dataclass(frozen=True)
class PublishedCell:
    """One cell as printed.

    Attributes:
        value: the number in the paper's unit. None for a dash or words.
        decimals: digits after the point, with trailing zeros.
        bound: e.g. ``>``. Empty for a value.
        delta: the difference in parentheses.
    """

    text: str
    value: Decimal | None = None
    decimals: int = 0
    marks: str = ""
    bold: bool = False
    bound: str = ""
    delta: Decimal | None = None

    @property
    def number(self) -> Decimal:
        assert self.value is not None, f"{self.text!r} states no number"
        return self.value

    @property
    def is_dash(self) -> bool:
        return self.text.strip() in DASHES

    @property
    def is_garbled(self) -> bool:
        """Whether the cell has a digit or star but is not a number."""
        return self.value is None and re.search(r"[\d*]", self.text) is not None

    @property
    def plain(self) -> str:
        """The number without bold, marks and delta."""
        if self.value is None:
            return "–" if self.is_dash else self.text
        return re.sub(r"[\s*†‡]+|\(.*", "", self.text)


@cache
def parse(text: str) -> PublishedCell:
    """Read a printed cell, e.g. ``"**0.342*†‡**"`` as 0.342, three decimals, bold, marks ``*†‡``."""
    bare_text = text.strip()
    closing = bare_text.rfind("**") if bare_text.startswith("**") else 0
    if bold := closing >= 2:
        bare_text = bare_text[2:closing] + bare_text[closing + 2 :]
    match = _NUMBER.fullmatch(bare_text)
    if match is None:
        return PublishedCell(text)
    texts = (match[name] for name in ("number", "delta"))
    number, delta = (Decimal(text.replace("−", "-")) if text else None for text in texts)
    decimals = len(match["number"].partition(".")[2])
    return PublishedCell(text, number, decimals, match["marks"], bold, match["bound"] or "", delta)


def decimals_of(value: Decimal) -> int:
    return max(0, -int(value.as_tuple().exponent))


def half_unit(decimals: int) -> Decimal:
    return Decimal(5).scaleb(-decimals - 1)


def half_up(value: Decimal, decimals: int) -> Decimal:
    """Round a value to ``decimals`` places, with ties away from zero."""
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def shift_point(value: Decimal | str, digits: int) -> Decimal:
    """Move the decimal point to the right by ``digits``. The result has no exponent."""
    number = Decimal(value).scaleb(digits)
    return number.quantize(Decimal(1)) if int(number.as_tuple().exponent) > 0 else number


def percent(value: Decimal, unit: str) -> Decimal:
    """Return a fraction in percent, other numbers unchanged."""
    return shift_point(value, 2) if unit == "fraction" else value


def are_apart(one: Decimal, half: Decimal, other: Decimal, other_half: Decimal) -> bool:
    """Return whether no unrounded number could be printed as both ``one`` and ``other``.

    ``half`` and ``other_half`` are half a unit of their last digits.
    """
    return one != other if half == other_half else abs(one - other) > half + other_half


def rounded(value: Decimal, decimals: int) -> set[Decimal]:
    """Return the set of two roundings: half up, and half to even."""
    places = Decimal(1).scaleb(-decimals)
    return {value.quantize(places, rounding=mode) for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN)}
