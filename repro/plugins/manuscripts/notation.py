"""The notation of numbers in cells, e.g. ``≈8.8M`` or ``38,2±0,3``."""

import re
from collections.abc import Iterable
from decimal import Decimal

MARKS = "†‡§¶*∗⋆★✶♣♠♦♥♢♡△▲▽▼⋄◇◆○•∘◦⊕"
MINUS = "−–"
SCALES = {"k": 3, "K": 3, "M": 6, "B": 9, "G": 9, "KB": 3, "MB": 6, "GB": 9, "TB": 12, "ms": -3, "µs": -6}
SCALES |= dict.fromkeys(("s", "%", "pp", "x", "×"), 0)
DOWN = f"-{MINUS}↓▼▽"
_SIGN = rf"\s*[-+{MINUS}±]?\s*"
_BOUND = "[<>≤≥~≈]?"
_CURRENCY = "[$€£]?"
_NUMBER = r"(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
_SIGNED = rf"[-+{MINUS}]?\d*\.?\d+"

_POWER = r"(?:[eE]|\s?[×x]?\s?10\^)[-+−]?\d{1,2}"
_ASIDE = rf"(?:\s*[(\[]\s*{_CURRENCY}{_NUMBER}(?:/\d+)?\s*[%kKMBs]?\s*[)\]])"

# a whole cell
VALUE = re.compile(
    rf"{_BOUND}{_SIGN}{_CURRENCY}(?:\d{{1,3}}(?:,\d{{3}})+|\d*)(?P<point>\.\d+)?(?:×10\^[-−]?\d+)?\s*"
    r"(?P<unit>[%kKMB]|ms|s|GB)?(?:\s*[±(/|→].*)?"
)
# the beginning of a cell
NUMBER = re.compile(rf"{_BOUND}{_SIGN}{_CURRENCY}\.?\d[\d,]*\.?\d*\s*%?(?![A-Za-z\d])")
PUBLISHED = re.compile(rf"([<>≤≥~]?\s*[-+−]?)({_NUMBER})\s*(GB|MB|k|%)?(?!\.?[\dA-Za-z])")
# numbers with any unit, and bounds
KNOWN = re.compile(
    rf"""[<>≤≥~≈×x]?\s*[-+−±]?\s*{_CURRENCY}{_NUMBER}\s*
        (?:%|[kKMBGT]B?|[mµn]?s|sec|min|hrs?|h|hours?|days?|d|[x×]|pp|pts?|points?|dim|epochs?|steps?|{_POWER})?
        {_ASIDE}?""",
    re.VERBOSE,
)
EFFECT = re.compile(
    r"(?i)\b(?P<name>accuracy|acc|exact[ -]match|EM|F1|BLEU|ROUGE(?:-\w)?|MAP|precision|recall|success|hits?"
    r"|HR?(?=\s?@)|n?DCG|MRR)\b"
)
SPREAD = re.compile(
    r"\s*\(?(±|\+/-|\+-|-\+)\s*(?P<spread>\d*\.?\d+)\s*%?\)?|(?<=\d)\((?P<digits>\d{1,2})\)"
    r"|(?<=\d),\s+\d*\.\d+$"  # e.g. ".84, .10"
    rf"|(?<=[\d%])\s*[\[(]\s*{_SIGNED}\s*[,–-]\s*{_SIGNED}\s*[\])]"  # an interval
)
DELTA = re.compile(
    rf"(?<=[^\s(\[])\s*[(\[]?\s*(?P<sign>[-+{MINUS}↑↓▲▼△▽])\s*(?P<digits>\d*\.?\d+)\s*(?P<share>%)?\s*[)\]]?\s*$"
)
NUMERIC = re.compile(r"[^\W\d_]?[\d\s.,±+\-−–()\[\]/%|*†‡<>≤≥~≈^×→↑↓]+(?:[kKMBG]|ms|s|h|GB|MB)?")
SPACED = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?")  # e.g. "532 761"
_COMMA = re.compile(r"(?<![\d.,])(\d+|\d{1,3}(?:[.\u2009']\d{3})+),(\d+)(?![\d,.]*\d)")
_THOUSANDS = r"(?<![\d.])([1-9]\d{0,2})\.(?=\d{3}(?![\d.]))"  # a point, e.g. "2.400"
_POINT = re.compile(rf"(?!{_THOUSANDS})(?<![\d.])\d+\.\d")
_SCALED = re.compile(
    rf"(?P<sign>[-+]?)\s?{_CURRENCY}\s?(?P<number>{_NUMBER}|(?=10\^))"
    rf"(?:(?P<power>{_POWER})|\s?(?P<unit>{'|'.join(SCALES)}))?\s?[*†‡]*{_ASIDE}?"
)


def scaled(text: str) -> Decimal | None:
    """Return a number with a unit or exponent, e.g. 8800000 for "8.8M (2)", or None."""
    if not (match := _SCALED.fullmatch(text)):
        return None
    power = re.sub(r".*[eE^]", "", match["power"] or "0").replace("−", "-")
    number = Decimal(match["sign"] + (match["number"] or "1").replace(",", ""))
    return number.scaleb(SCALES.get(match["unit"], int(power)))


def leading_number(text: str) -> float | None:
    """Return the number that begins a text, e.g. 1024 for "1,024 (dev)", or None."""
    match = re.match(rf"[-+]?{_NUMBER}", text.strip())
    return float(match[0].replace(",", "")) if match else None


def count_commas(texts: Iterable[str]) -> tuple[int, int]:
    """Return the numbers of decimal commas, not between thousands, and of decimal points."""
    text = "\n".join(texts)
    commas = sum(_is_decimal(*match.groups()) for match in _COMMA.finditer(text))
    return commas, len(_POINT.findall(_COMMA.sub("", text)))


def with_point(text: str, *, is_always: bool = False) -> str:
    """Replace decimal commas by points, if ``is_always`` also commas that could separate thousands."""

    def point(match: re.Match[str]) -> str:
        if is_always or _is_decimal(*match.groups()):
            return f"{re.sub('[^0-9]', '', match[1])}.{match[2]}"
        return match[0]

    return _COMMA.sub(point, re.sub(_THOUSANDS, r"\1", text) if is_always else text)


def _is_decimal(whole: str, part: str) -> bool:
    return len(part) != 3 or whole.startswith("0") or len(whole) > 3
