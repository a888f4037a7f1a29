"""Pointers in a paper's text, found by form."""

import re
from collections import Counter

_KINDS = "Tables?|Figures?|Sections?|Appendix(?: section)?|Eqs?\\.?|[Ee]quations?|Algorithm|Intro|analysis"
_PART = re.compile(
    rf"({_KINDS})[\s}}]*\(?([0-9A-C]+(?:\.[0-9]+)*)\)?(?: \(?[ab]\)?(?= |,))?(:?)"
    r"(?:,? and (?:Table )?([0-9]+)(?![0-9.]*[A-Za-z]))?"
)
_LABELS = {"T": "Table ", "F": "Figure ", "S": "§", "E": "Eq. ", "e": "Eq. ", "I": "§", "a": "§"}
_NUMBERS = re.compile(r"(?<!\\in )(?<!_)\[(\d+(?:(?:, |–)\d+)*)\]")
_NAMES = re.compile(
    r"([A-Z][a-zćöäšü]+(?:-[A-Z][a-z]+)?)( et al\.| and [A-Z][a-z]+)?(?:,? \(|, )"
    r"((?:\d{4}[a-z]?(?:,[a-z])*(?:, (?=\d{4}))?)+)(?=[);,\s]|\b)"
)
_TRAINED = re.compile(r"\b(?:fine-tun(?:e|ed|ing)|train(?:ed)?)\b", re.IGNORECASE)
_EVALUATION_SET = re.compile(r"\bMA[RC][CR]O Dev\b|\bTREC ?20(?:19|20)\b")
_EVALUATED = re.compile(r"\bevaluat|\bcomparison|\btraining queries\b|MRR@|<td>", re.IGNORECASE)
_MONTHS = {"July", "June", "October", "November"}


def body(text: str) -> str:
    head, _, rest = re.split(r"(\n#* *REFERENCES|\nReferences|## REFERENCES)\s*\n", text, maxsplit=1)
    appendix = rest.partition("\nA Details on ")
    return re.sub(r"\s+", " ", head + "".join(appendix[1:]))


def parts(text: str) -> Counter:
    """How often tables, figures, equations and sections are pointed at; captions are no pointers."""
    found: Counter = Counter()
    for match in _PART.finditer(text):
        kind, first, caption, second = match.groups()
        label = "Algorithm " if kind == "Algorithm" else _LABELS.get(kind[0], "App. ")
        for number in () if caption else filter(None, (first, second)):
            found["App. " + number if kind.startswith("App") else label + number] += 1
    return found


def numbers(text: str) -> Counter:
    """How often each number of the reference list is cited, ranges written out."""
    found: Counter = Counter()
    for match in _NUMBERS.finditer(text):
        for piece in match[1].split(", "):
            first, _, last = piece.partition("–")
            found.update(str(n) for n in range(int(first), int(last or first) + 1))
    return found


def names(text: str) -> Counter:
    """How often each author and year is cited, as ``First+ 2021a`` or ``First & Second 2021``."""
    found: Counter = Counter()
    for match in _NAMES.finditer(text):
        first, more, years = match[1], match[2] or "", match[3]
        label = f"{first}+" if "et al" in more else f"{first} & {more[5:]}" if more else first
        for year in years.split(", ") if first not in _MONTHS else ():
            plain, *letters = year.split(",")
            found.update(f"{label} {each}" for each in (plain, *(plain[:4] + x for x in letters)))
    found["Nogueira & Lin"] = text.count("Nogueira and Lin)")
    return +found


def trained_on_evaluation_sets(text: str) -> list[str]:
    sentences = re.split(r"(?<=[.?!]) (?=[A-Z*(])", text)
    named = [s for s in sentences if _TRAINED.search(s) and _EVALUATION_SET.search(s)]
    return [sentence for sentence in named if not _EVALUATED.search(sentence)]
