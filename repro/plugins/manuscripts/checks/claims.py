"""Checks sentences on results, e.g. "We reach 41.2 MRR@10" or "best of all on FiQA"."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from repro.manifest.printed import shift_point
from repro.plugins.manuscripts.checks import NUMERALS, Finding, numeral
from repro.plugins.manuscripts.checks.quotes import (
    NO_QUOTE,
    NUMBER,
    WE,
    Systems,
    differs_by,
    differs_by_share,
    is_same,
    plain,
)
from repro.plugins.manuscripts.series import Series, Value
from repro.plugins.manuscripts.source_tables import Place
from repro.plugins.manuscripts.vocabulary import measures

_OTHERS = re.compile(
    r"(?i)\b(report(s|ed)?\s+(by|in)|original(ly)?|previous(ly)?|prior work|et al|their paper|w/o|without"
    r"|if|would|ablat\w*|remov\w+|seeds?|loss|figure|fig\.|threshold|temperature|learning rate|dropout)\b"
)
_UNCLEAR = re.compile(r"(?i)\bp\s*[<=]|respectively|\bup to\b")
_REACHES = re.compile(
    rf"(?i)\b(?:reach|achiev|obtain|scor|attain|get|yield)\w*\s+(?:an?\s+|about\s+|score\s+of\s+)*{NUMBER}"
    r"(?!\s*(?:%|percent)?[\s-]*(?:absolute|relative|points?|pts|pp|higher|lower|better|worse|more)\b)"
)
_COMPARED = re.compile(
    r"\s*(?:%|percent)?[\s-]*(?:absolute|relative|points?|pts|pp|higher|lower|better|worse|more)\b"
)
_BY = re.compile(
    r"(?i)\b(?:by|gains?\s+of|from|to|than|margin\s+of|improvements?\s+of|drops?\s+of)\s+\S*\s*$"
)
_MEASURED = 30  # characters between a number and its measure
_WHOLE = r"(?<![\d.,@-])(?P<whole>\d+)(?=\s*(?:%|percent\b))"
_DIFFERENCE = re.compile(
    rf"(?P<by>\b(?:by|gains?\s+of|lead\s+of|margin\s+of|improvements?\s+of|increases?\s+of|drops?\s+of)\s+"
    rf"(?:about\s+|around\s+|over\s+|only\s+|an?\s+)*\+?)?(?P<share>relative\w*\s+)?(?:{NUMBER}|{_WHOLE})"
    r"\s*(?P<unit>%|percent\b|pp\b)?"
    r"(?P<words>(?:[\s-]*(?:absolute|relative|percentage|points?|pts?|higher|lower|better|worse|more|less))*)"
    r"\s*(?P<way>above|over|below|behind|than|ahead\s+of|under|improvement|gain|relative\s+to)?\b"
)


def wrong_numbers(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    """Find scores that no matching cell has, e.g. "an nDCG@10 of 70.3 (Table 2)"."""
    if _UNCLEAR.search(sentence) or _OTHERS.search(sentence):
        return
    reached = (match["number"] for match in _REACHES.finditer(plain(sentence)))
    for text in dict.fromkeys((*_scores(sentence), *(reached if systems.names_column(sentence) else ()))):
        yield from _of_number(place, sentence, text, systems)


def _scores(sentence: str) -> Iterator[str]:
    text = plain(sentence)
    spans = sorted(measures(text).values())
    for match in re.finditer(NUMBER, text):
        first, last = match.span()
        gaps = [text[last:start] if start > last else text[end:first] for start, end in spans]
        near = [gap for gap in gaps if len(gap) <= _MEASURED and not re.search(r"\d|\band\b", gap)]
        if near and not (_COMPARED.match(text[last : last + 30]) or _BY.search(text[:first])):
            yield match["number"]


def _of_number(place: Place, sentence: str, text: str, systems: Systems) -> Iterator[Finding]:
    cited = systems.cited(sentence)
    known = [value for table in cited for value in systems.values(table, sentence)]
    scores = [value for table in cited for series in systems.scores(table, sentence) for value in series]
    if not scores or any(is_same(text, value) for value in known):
        return
    if near := [value for value in known if _is_near(text, value)]:
        names = ", ".join(f"{value.text} at {value.place}" for value in near[:3])
        says = f"The text gives {text}: {_short(sentence)}"
        yield Finding("doubt", "prose", place, says, f"The table has {names}")
    elif known or (WE.search(sentence) and not systems.have(text)):
        why = "No table has this number for the named system and measure"
        yield Finding("note", "prose", place, f"{text} is not in any matching cell: {_short(sentence)}", why)


def _short(sentence: str, most: int = 90) -> str:
    text = " ".join(sentence.split()).rstrip(".")
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def _is_near(text: str, value: Value) -> bool:
    stated = Decimal(text)
    numbers = (shift_point(value.number, digits) for digits in (0, 2, -2))
    return any(10 * abs(number - stated) <= max(number, stated) for number in numbers)


def wrong_differences(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    """Find differences that the two named systems never have, e.g. "2.1 points above BM25"."""
    found = [match for match in _DIFFERENCE.finditer(plain(sentence)) if match["by"] or _compares(match)]
    is_unclear = NO_QUOTE.search(sentence) or _OTHERS.search(sentence)
    for match in found if len(found) == 1 and not is_unclear else ():
        yield from _of_difference(place, sentence, match, systems)


def _of_difference(place: Place, sentence: str, match: re.Match[str], systems: Systems) -> Iterator[Finding]:
    pairs = [(one, other) for _, one, other in _pairs(sentence, systems)]
    fitting = [pair for pair in pairs if _differ_by(*pair, match)]
    if pairs and not fitting:
        says = f"The two systems never differ by {_stated(match)}: {_short(sentence)}"
        yield Finding("doubt", "prose", place, says, f"Their numbers include {_both(*pairs[0])}")
    elif fitting and all((one.number - other.number) * _way(match) < 0 for one, other in fitting):
        says = f"The difference has the other sign: {_short(sentence)}"
        yield Finding("doubt", "prose", place, says, _both(*fitting[0]))


def _both(one: Value, other: Value) -> str:
    return f"{one.text} and {other.text} at {one.place}"


def _words(match: re.Match[str]) -> list[str]:
    return f"{match['words']} {match['way'] or ''}".split()


def _compares(match: re.Match[str]) -> bool:
    return _words(match) not in ([], ["than"], ["over"])


def _way(match: re.Match[str]) -> int:
    """Return 1 for e.g. "higher", -1 for e.g. "below", or 0."""
    up = {"above", "higher", "better", "more", "ahead"}.intersection(_words(match))
    down = {"below", "behind", "lower", "worse", "less", "under"}.intersection(_words(match))
    return bool(up) - bool(down)


def _pairs(sentence: str, systems: Systems) -> Iterator[tuple[Series, Value, Value]]:
    for table in systems.cited(sentence):
        yield from systems.pairs(table, sentence)


def _differ_by(one: Value, other: Value, match: re.Match[str]) -> bool:
    text, words = _stated(match), f"{match['share'] or ''}{match['words']} {match['way'] or ''}"
    if "relative" in words:
        return differs_by_share(one, other, text)
    return differs_by(one, other, text, is_share="point" not in words and "absolute" not in words)


def _stated(match: re.Match[str]) -> str:
    return str(match["number"] or match["whole"])


_BEST = re.compile(
    r"(?i)\b(?:best|highest|strongest|top)\b(?:\s+\w+){0,3}\s+(?:of|among|overall|on|in|across|MRR|nDCG|R)\b"
    r"|\boutperforms?\s+(?:all|every|any)\b|\bbetter\s+than\s+(?:all|every|any)\b|\b(?:is|performs|ranks)\s+(?:the\s+)?best\b"
)
_LIMITED = re.compile(
    r"(?i)\b(second|dense|sparse|lexical|supervised|unsupervised|single|size|sized|small|comparable|among the"
    r"|except|but|other than|than all other \w+ \w+ models|baselines? (?:with|without|of)|not|n't|never"
    r"|one of|zero-shot models)\b"
)
_BEATS = re.compile(
    r"(?i)\b(?:outperform\w*|beats?|surpass\w*|exceed\w*|improves?\s+(?:up)?on|improves?\s+over|wins?\s+against|is\s+better\s+than)\b"
)
_HEDGED = re.compile(
    r"(?i)\b(not|n't|never|fails?|although|while|whereas|but|except|unless|if|only|does|can|could|may)\b"
)
_COUNT = re.compile(
    rf"(?i)\b(?:on|in|for)\s+(?P<wins>\d+|all|{NUMERALS})(?:\s+(?:out\s+)?of)?(?:\s+(?:the|all))?"
    rf"(?:\s+(?P<all>\d+|{NUMERALS}))?\s+(?:BEIR\s+)?"
    r"(?P<what>datasets?|collections?|benchmarks?|tasks?|corpora|test sets?)?"
)


def wrong_claims(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    """Find claims to be the best, or to outperform a system, that tables refute."""
    if _BEATS.search(sentence) and (count := _count(sentence)):
        yield from _of_count(place, sentence, systems, *count)
    elif _BEST.search(sentence) and not _LIMITED.search(sentence):
        yield from _of_best(place, sentence, systems)
    elif _BEATS.search(sentence) and not _HEDGED.search(sentence):
        yield from _of_order(place, sentence, systems)


def _count(sentence: str) -> tuple[int | None, int | None] | None:
    """Return the numbers of won and of all collections, None for "all" or unknown."""
    for match in _COUNT.finditer(sentence):
        wins, whole = (numeral(match[name]) for name in ("wins", "all"))
        if whole is not None or (match["wins"].lower() == "all" and match["what"]):
            return wins, whole
    return None


def _of_count(
    place: Place, sentence: str, systems: Systems, wins: int | None, whole: int | None
) -> Iterator[Finding]:
    counted = []
    for table in systems.cited(sentence):
        pairs = _of_scores(systems.pairs(table, sentence))
        if len(pairs) < 3 or whole not in (None, len(pairs)):
            continue
        ahead = sum(series.lead(one, other) > 0 for series, one, other in pairs)
        ties = sum(one.number == other.number for _, one, other in pairs)
        if ahead <= (len(pairs) if wins is None else wins) <= ahead + ties:
            return
        counted.append((ahead, len(pairs), pairs[0][1].place))
    for ahead, number, at in counted[:1]:
        says = f"The first system is ahead on {ahead} of {number}: {_short(sentence)}"
        yield Finding("doubt", "claim", place, says, f"Counted in the table at {at}")


def _of_scores(pairs: Iterable[tuple[Series, Value, Value]]) -> list[tuple[Series, Value, Value]]:
    return [pair for pair in pairs if not pair[0].total and not pair[0].is_difference]


def _of_best(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    ahead = [found for table in systems.cited(sentence) for found in _ahead(table, sentence, systems)]
    if len({(s.dataset, s.measure) for s, *_ in ahead}) == 1 and all(value for _, value, _ in ahead):
        [(series, value, label), *_] = ahead
        why = f"{label}, {series.name}: {value.text} at {value.place}"
        yield Finding("doubt", "claim", place, f"Not the best: {_short(sentence)}", why)


def _ahead(table: int, sentence: str, systems: Systems) -> Iterator[tuple[Series, Any, str]]:
    """Yield series with a better number of the same group, or None, and its label."""
    subjects, grid = systems.subjects(table, sentence), systems.tables[table].grid
    groups = {grid.lines[line].group for line in subjects}
    for series in systems.scores(table, sentence):
        ours = [value for value in series if value.line in subjects]
        if ours and series.sign and not series.is_difference and len(series.values) > 1:
            ahead = (value for value in series if all(series.lead(value, our) > 0 for our in ours))
            better = next((value for value in ahead if grid.lines[value.line].group in groups), None)
            yield series, better, grid.label(better) if better else ""


def _of_order(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    pairs = _of_scores(_pairs(sentence, systems))
    if pairs and not re.search(NUMBER, sentence) and all(s.lead(*numbers) < 0 for s, *numbers in pairs):
        series, one, other = pairs[0]
        says = f"The first system is behind: {_short(sentence)}"
        yield Finding("doubt", "claim", place, says, f"{series.name}: {_both(one, other)}")
