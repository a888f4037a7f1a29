"""Checks sentences on results, e.g. "We reach 41.2 MRR@10" or "best of all on FiQA"."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, pairwise, permutations
from typing import Any

from repro.manifest.printed import shift_point
from repro.plugins.manuscripts.checks import NUMERALS, Finding, numeral
from repro.plugins.manuscripts.checks.quotes import (
    AVERAGE,
    NUMBER,
    WE,
    Systems,
    differs_by,
    differs_by_share,
    is_in,
    is_same,
    plain,
)
from repro.plugins.manuscripts.series import Series, Value
from repro.plugins.manuscripts.source_tables import Place
from repro.plugins.manuscripts.vocabulary import measures

_OTHERS = re.compile(
    r"(?i)\b(report(s|ed)?\s+(by|in)|original(ly)?|previous(ly)?|prior work|et al|their paper|w/o|without"
    r"|if|would|ablat\w*|remov\w+|seeds?|loss|figure|fig\.|threshold|temperature|learning rate|dropout"
    r"|medians?|rank(?:s|ed|ing))\b"
)
_UNCLEAR = re.compile(r"(?i)\bp\s*[<=]|respectively|\bup to\b")
_COMPARED = r"\s*(?:%|percent)?[\s-]*(?:absolute|relative|points?|pts|pp|higher|lower|better|worse|more)\b"
_SCORE = r"(?:exact\s+match|EM|F1|accuracy|average|mean)"  # beside the known measures
_REACHES = re.compile(
    rf"(?i)(?:\b(?:reach|achiev|obtain|scor|attain|get|yield)\w*\s+(?:an?\s+|about\s+|score\s+of\s+)*"
    rf"|\b{_SCORE}\s+(?:of\s+\S+\s+)?(?:of|is|was|\()\s*"
    rf"|\b(?-i:[A-Z])\S+\s+\((?=[\d.]+\s*%?\))){NUMBER}(?!{_COMPARED})"
)
_BY = re.compile(
    r"(?i)\b(?:by|gains?\s+of|from|to|than|margin\s+of|improvements?\s+of|drops?\s+of|at(?:\s+[\d.,]+|\s+and)*)"
    r"\s+\S*\s*$|[≥≤<>=]\s*$"
)
_COSTS = re.compile(r"(?i)cost|latenc|fast|slow|token|memory|param|speed|time|size|error|mse\b|loss|perplex")
_MEASURED = 30  # characters between a number and its measure
_WHOLE = r"(?<![\d.,@-])(?P<whole>\d+)(?=\s*(?:%|percent\b))"
_DIFFERENCE = re.compile(
    rf"(?P<by>\b(?:relative\s+)?(?:by|gains?(?:\s+of)?|lead\s+of|margin\s+of|improvements?\s+of|increases?\s+of|drops?\s+of)\s+"
    rf"(?:only\s+|an?\s+|up\s+to\s+)*\+?)?(?P<share>relative\w*\s+)?(?:{NUMBER}|{_WHOLE})"
    r"\s*(?P<unit>%|percent\b|pp\b)?"
    r"(?P<words>(?:[\s-]*(?:absolute|relative|percentage|points?|pts?|higher|lower|better|worse|more|less))*)"
    r"\s*(?P<way>above|over|below|behind|than|ahead\s+of|under|improvement|gain|relative\s+to)?\b"
)
_Pairs = list[tuple[Series, Value, Value]]
_SAME = re.compile(r"(?i)\b(?:which|that)\s+(?:is|means|equals)\b[^.;\d]*$|\bi\.?e\.?[\s,]*$")


def wrong_numbers(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    """Find scores that no matching cell has, e.g. "an nDCG@10 of 70.3 (Table 2)"."""
    if _UNCLEAR.search(sentence) or _OTHERS.search(sentence):
        return
    reached = [match["number"] for match in _REACHES.finditer(plain(sentence))]
    is_of_column = AVERAGE.search(sentence) or systems.named(sentence)
    for text in dict.fromkeys((*_scores(sentence), *(reached if is_of_column else ()))):
        yield from _of_number(place, sentence, text, systems)


def _scores(sentence: str) -> Iterator[str]:
    text = plain(sentence)
    spans = sorted(measures(text).values())
    for match in re.finditer(NUMBER, text):
        first, last = match.span()
        gaps = [text[last:start] if start > last else text[end:first] for start, end in spans]
        near = [gap for gap in gaps if len(gap) <= _MEASURED and not re.search(r"\d|\band\b", gap)]
        if near and not (re.match(_COMPARED, text[last : last + 30]) or _BY.search(text[:first])):
            yield match["number"]


def _clause(sentence: str, text: str) -> str:
    """Return the part of a sentence with a number, if each part has one number and its measure."""
    parts = re.split(r",?\s(?:and|while|with|but)\s|;", sentence)
    is_each = all(len(measures(part)) == len(re.findall(NUMBER, plain(part))) == 1 for part in parts)
    return next((part for part in parts if is_each and text in part), sentence)


def _of_number(place: Place, sentence: str, text: str, systems: Systems) -> Iterator[Finding]:
    known, scores, clause = list[Value](), list[Series](), _clause(sentence, text)
    for table in systems.cited(sentence):
        own, lines = systems.columns(table, clause), systems.subjects(table, sentence)
        about = (*systems.scores(table, sentence), *systems.scores(table, clause))
        columns = [each for each in dict.fromkeys(about) if each in own]
        known += [each.values[line] for each in columns for line in lines if line in each.values]
        scores += columns
    right = [value for each in scores for value in each] if f"({text}" in sentence else known
    if not scores or any(is_same(text, value) for value in right):
        return
    if near := [value for value in known if _is_near(text, value)]:
        names = ", ".join(f"{value.text} at {value.place}" for value in near[:3])
        says = f"The text gives {text}: {_short(sentence)}"
        yield Finding("doubt", "prose", place, says, f"The table has {names}")
    elif (known or WE.search(sentence)) and not any(is_in(text, table) for table in systems.tables):
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
    text = plain(sentence)
    found = [match for match in _DIFFERENCE.finditer(text) if match["by"] or _compares(match)]
    found = [each for each in found if not _COSTS.search(text[max(each.start() - 25, 0) : each.end() + 40])]
    found = found if not re.search("respectively", text) and not _OTHERS.search(text) else []
    for before, match in pairwise((*found[:1], *found)):
        same = before if _SAME.search(text[before.end() : match.start()]) else match
        pairs = _pairs(text, same.span(), systems, is_alone=len(found) == 1)
        yield from _of_difference(place, text, match, *pairs)


def _of_difference(
    place: Place, sentence: str, match: re.Match[str], pairs: _Pairs, is_clear: bool
) -> Iterator[Finding]:
    numbers = [number for number in re.findall(NUMBER, sentence) if number != _stated(match)]
    told = [p for p in pairs if all(any(is_same(text, value) for text in numbers) for value in p[1:])]
    pairs = told or pairs
    fitting = [(one, other) for _, one, other in pairs if _differ_by(one, other, match)]
    severity = "doubt" if is_clear or told else "note"
    if pairs and not fitting:
        says = f"The two systems never differ by {_stated(match)}: {_short(sentence)}"
        yield Finding(severity, "prose", place, says, f"Their numbers include {_both(*pairs[0][1:])}")
    elif fitting and all((one.number - other.number) * _way(match) < 0 for one, other in fitting):
        says = f"The difference has the other sign: {_short(sentence)}"
        yield Finding(severity, "prose", place, says, _both(*fitting[0]))


_THAN = re.compile(
    r"(?i)\b(?:above|over|below|behind|under|than|against|versus|vs|compared\s+(?:with|to)|relative\s+to"
    r"|improv\w*\s+(?:up)?on|(?:outperform|beat|surpass|exceed)\w*)\s+"
    r"(?:(?:the|that|those|of|our|strong|best|model|system|baseline|value|score|number|result|with|and|,)s?\s*)*$"
)


def _pairs(
    sentence: str, span: tuple[int, int], systems: Systems, *, is_alone: bool = True
) -> tuple[_Pairs, bool]:
    """Return the scores of a subject and of the system that it is compared with at a span, with their series,
    and whether the sentence names one subject."""
    pairs, is_clear = _Pairs(), True
    for table in systems.cited(sentence):
        named = systems.mentions(table, sentence)
        than = [mention for mention in named if _THAN.search(sentence[: mention[0]])]
        behind = [mention for mention in named if mention[0] >= span[1]][:1]
        near = [m for m in behind if re.fullmatch(r"[^\d,;]{0,30}", sentence[span[1] : m[0]])]
        others = near or (than or named[1:] if is_alone else [])
        subjects = [mention[1] for mention in named if mention not in (*than, *near, *others[:1])]
        if not others or (not near and len({line for _, line in others}) > 1):
            continue
        other, lines = others[0][1], subjects or systems.ours[table]
        found = [
            (each, each.values[line], each.values[other])
            for each in systems.scores(table, sentence)
            for line in lines
            if line != other and {line, other} <= each.values.keys()
        ]
        is_clear = is_clear and (len(subjects) == 1 or not found)
        pairs += found
    return pairs, is_clear


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


def _differ_by(one: Value, other: Value, match: re.Match[str]) -> bool:
    text, words = _stated(match), " ".join((match["by"] or "", match["share"] or "", *_words(match)))
    if "relative" in words:
        return differs_by_share(one, other, text)
    return differs_by(one, other, text, is_share="point" not in words and "absolute" not in words)


def _stated(match: re.Match[str]) -> str:
    return str(match["number"] or match["whole"])


_BEST = re.compile(
    r"(?i)\b(?:best|highest|strongest|top)\b(?:\s+\w+){0,3}\s+(?:of|among|overall|on|in|across|MRR|nDCG|R)\b"
    r"|\b(?:best|highest)\s+(?:average|mean)\b|\bwins\s+(?:on|in)\b"
    r"|\boutperforms?\s+(?:all|every|any)\b|\bbetter\s+than\s+(?:all|every|any)\b|\b(?:is|performs|ranks)\s+(?:the\s+)?best\b"
)
_LIMITED = re.compile(
    r"(?i)\b(second|dense|sparse|lexical|supervised|unsupervised|single|size|sized|small|comparable|among the"
    r"|except|but|other than|than all other \w+ \w+ models|baselines? (?:with|without|of)|not|n't|never"
    r"|one of|zero-shot models|search|tun(?:e|ed|ing)|select\w*|choos\w+|chosen"
    r"|(?:its|our|their) (?:best|strongest|highest))\b"
)
_PLACE = re.compile(r"(?i)\b(?:in|on|for|at)\s+(?:the\s+)?$")
_BEATS = re.compile(
    r"(?i)\b(?:outperform\w*|beats?|surpass\w*|exceed\w*|improves?\s+(?:up)?on|improves?\s+over|wins?\s+against|is\s+better\s+than)\b"
)
_HEDGED = re.compile(
    r"(?i)\b(not|n't|never|fails?|although|while|whereas|but|except|unless|if|only|does|can|could|may)\b"
)
_COUNT = re.compile(
    rf"(?i)\b(?:on|in|for)\s+(?P<but>all\s+(?:but|except)\s+)?(?P<wins>\d+|all|each|every|{NUMERALS})"
    rf"(?:\s+(?:out\s+)?of)?(?:\s+(?:the|all|these))*(?:\s+(?P<all>\d+|{NUMERALS}))?\b"
    r"(?:(?:\s+\w+)?\s+(?P<what>datasets?|collections?|benchmarks?|tasks?|corpora|sets?|languages?|domains?)\b)?"
)


def wrong_claims(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    """Find claims that tables refute, to be the best or to outperform a system on some collections."""
    verbs = sorted((*_BEATS.finditer(sentence), *_BEST.finditer(sentence)), key=re.Match.start)
    counts = [match for match in _COUNT.finditer(sentence) if match["all"] or match["what"]]
    if counts and verbs:
        for match in counts:
            verb = [each for each in verbs if each.end() <= match.end()][-1:] or verbs[:1]
            yield from _of_count(place, sentence, systems, (match, verb[0]))
    elif _BEST.search(sentence) and not _LIMITED.search(sentence):
        yield from _of_best(place, sentence, systems)
    elif _BEATS.search(sentence) and not _HEDGED.search(sentence):
        yield from _of_order(place, sentence, systems)


_Claim = tuple[re.Match[str], re.Match[str]]  # a count and its verb


def _of_count(place: Place, sentence: str, systems: Systems, claim: _Claim) -> Iterator[Finding]:
    wins, whole, counted = numeral(claim[0]["wins"]), numeral(claim[0]["all"]), []
    if wins is not None and whole is None and not claim[0]["but"]:
        return  # e.g. "on 12 collections"
    for leads, at in _leads(sentence, systems, claim):
        ahead, ties = sum(lead > 0 for lead in leads), leads.count(Decimal(0))
        stated = len(leads) - (wins or 0) if claim[0]["but"] or wins is None else wins
        if len(leads) > 2 and whole in (None, len(leads)):
            counted.append((not ahead <= stated <= ahead + ties, ahead, len(leads), at))
    for is_wrong, ahead, number, at in sorted(counted, key=lambda each: each[0])[:1]:
        if is_wrong:
            says = f"The first system is ahead on {ahead} of {number}: {_short(sentence)}"
            yield Finding("doubt", "claim", place, says, f"Counted in the table at {at}")


def _leads(sentence: str, systems: Systems, claim: _Claim) -> Iterator[tuple[list[Decimal], Place]]:
    """Yield the leads of a subject by column: over one system, or over all if it is called the best. The
    columns are those of a table, of one of its measures, or of all cited tables."""
    meant, together = systems.meant(sentence), list[Decimal]()
    for table in meant or systems.cited(sentence):
        place = systems.tables[table].grid.table.place
        ahead = list(_ahead_by(table, sentence, systems, claim))
        for name in {"", *(series.heads[-1] for series, _ in ahead if measures(series.name))}:
            yield [lead for series, lead in ahead if name in ("", series.heads[-1])], place
        together += [lead for _, lead in ahead]
    if meant and together:
        yield together, systems.tables[meant[0]].grid.table.place


def _ahead_by(table: int, sentence: str, systems: Systems, claim: _Claim) -> Iterator[tuple[Series, Decimal]]:
    named, lines = systems.mentions(table, sentence), systems.tables[table].grid.lines
    (match, verb), subjects = claim, [line for at, line in named if at == named[0][0]]
    others = [line for line in lines if lines[line].group in {lines[each].group for each in subjects}]
    if _BEATS.match(verb[0]):
        behind = [(at, line) for at, line in named if at >= verb.end()]
        others = [line for at, line in behind if at < match.start()][-1:] or [line for _, line in behind[:1]]
    for series in systems.columns(table, sentence) if subjects else ():
        ours = [series.values[line] for line in subjects if line in series.values]
        beaten = [value for value in series if value.line in others and value not in ours]
        if ours and beaten and not (series.total or series.has_unread):
            yield series, max(min(series.lead(our, value) for value in beaten) for our in ours)


def _of_best(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    ahead = [found for table in systems.cited(sentence) for found in _ahead(table, sentence, systems)]
    is_of_one = len({series.name for series, *_ in ahead}) == 1 or AVERAGE.search(sentence)
    if ahead and is_of_one and all(value for _, value, _ in ahead):
        [(series, value, label), *_] = ahead
        why = f"{label}, {series.name}: {value.text} at {value.place}"
        yield Finding("doubt", "claim", place, f"Not the best: {_short(sentence)}", why)


def _ahead(table: int, sentence: str, systems: Systems) -> Iterator[tuple[Series, Any, str]]:
    """Yield each score of a sentence with a better number of the same group, or None, and its label."""
    grid, best = systems.tables[table].grid, _BEST.search(sentence)
    named = [m for m in systems.mentions(table, sentence) if not _PLACE.search(sentence[: m[0]])]
    subjects = [line for at, line in named if best and (at < best.start() or not WE.match(sentence[at:]))]
    groups = {grid.lines[line].group for line in subjects}
    for series in systems.scores(table, sentence):
        ours = [value for value in series if value.line in subjects]
        if ours and len(series.values) > 1:
            ahead = (value for value in series if all(series.lead(value, our) > 0 for our in ours))
            better = next((value for value in ahead if grid.lines[value.line].group in groups), None)
            yield series, better, grid.label(better) if better else ""


def _of_order(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    pairs, _ = _pairs(sentence, (len(sentence),) * 2, systems)
    if pairs and not re.search(NUMBER, sentence) and all(s.lead(*numbers) < 0 for s, *numbers in pairs):
        series, one, other = pairs[0]
        says = f"The first system is behind: {_short(sentence)}"
        yield Finding("doubt", "claim", place, says, f"{series.name}: {_both(one, other)}")


_LIST = re.compile(r"\d*\.\d+(?:(?:\s*,|\s*and|\s*%)+\s*\d*\.\d+)+")


def wrong_order(place: Place, sentence: str, systems: Systems) -> Iterator[Finding]:
    """Find exchanged numbers, e.g. "A and B reach 41.2 and 39.5, respectively" with 39.5 for A, and lists
    with one number that is wrong."""
    lists = [re.findall(r"\d*\.\d+", text) for text in _LIST.findall(sentence)]
    rows = [
        values
        for table in (systems.cited(sentence) if "respectively" in sentence and len(lists) == 1 else ())
        for values in _rows(table, sentence, systems)
        if len(values) == len(lists[0])
    ]
    right = [sum(map(is_same, lists[0], values)) for values in rows]
    if not rows or max(right) == len(lists[0]):
        return
    exchanged = (r for r in rows if any(all(map(is_same, order, r)) for order in permutations(lists[0])))
    near = (
        r for n, r in zip(right, rows, strict=True) if n == len(r) - 1 and all(map(_is_near, lists[0], r))
    )
    if values := next(chain(exchanged, near), None):
        names = ", ".join(f"{value.text} at {value.place}" for value in values)
        says = f"The numbers or their order differ: {_short(sentence)}"
        yield Finding("doubt", "prose", place, says, f"The table has {names}")


def _rows(table: int, sentence: str, systems: Systems) -> Iterator[list[Value]]:
    """Yield the numbers of the named systems by score, and those of the named scores by system."""
    lines, scores = systems.subjects(table, sentence), systems.in_order(table, sentence)
    for series in systems.scores(table, sentence):
        yield [series.values[line] for line in lines if line in series.values]
    for line in lines:
        yield [series.values[line] for series in scores if line in series.values]
