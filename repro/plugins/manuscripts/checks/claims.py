"""Checks sentences on results, e.g. "We reach 41.2 MRR@10" or "best of all on FiQA"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import chain, combinations, pairwise, product
from operator import attrgetter, itemgetter
from typing import Any

from repro.manifest.printed import decimals_of, half_unit
from repro.plugins.manuscripts.checks import NUMERALS, Findings, numeral
from repro.plugins.manuscripts.checks.quotes import (
    AVERAGE,
    NUMBER,
    THAN,
    WE,
    Mentions,
    Systems,
    differs_by,
    differs_by_share,
    is_in,
    is_near,
    is_same,
    listed,
    plain,
)
from repro.plugins.manuscripts.series import Series, Value
from repro.plugins.manuscripts.source_tables import Place
from repro.plugins.manuscripts.vocabulary import measures

_OTHERS = re.compile(
    r"(?i)\b(report(s|ed)?\s+(by|in)|original(ly)?|previous(ly)?|prior work|et al|their paper|w/o|without"
    r"|if|would|ablat\w*|remov\w+|seeds?|loss|figure|fig\.|threshold|temperature|learning rate|dropout"
    r"|medians?|cache|rank(?:s|ed|ing))\b"
)
_UNCLEAR = re.compile(r"(?i)\bp\s*[<=]|respectively|\bup to\b")
_COMPARED = r"\s*(?:%|percent)?[\s-]*(?:absolute|relative|points?|pts|pp|higher|lower|better|worse|more)\b"
_SCORE = r"(?:H(?:R|its?)?\s?@\s?\d+|exact\s+match|EM|F1|accuracy|average|mean)"  # beside the known measures
_REACHES = re.compile(
    rf"(?i)(?:\b(?:reach|achiev|obtain|scor|attain|get|yield)\w*\s+(?:an?\s+|about\s+|score\s+of\s+)*"
    rf"|\b{_SCORE}\s+(?:of\s+\S+\s+)?(?:of|is|was|\()\s*"
    rf"|\b(?-i:[A-Z])\S+\s+\((?=[\d.]+\s*%?\))){NUMBER}(?!{_COMPARED})"
)
_BY = re.compile(
    r"(?i)\b(?:by|gains?\s+of|from|to|than|margin\s+of|improvements?\s+of|drops?\s+of|at(?:\s+[\d.,]+|\s+and)*|over|above|nearly|almost|around|least|most)"
    r"\s+\S*\s*$|[≥≤<>=]\s*$"
)
_COSTS = re.compile(r"(?i)cost|latenc|fast|slow|token|memory|param|speed|time|size|error|mse\b|loss|perplex")
_MEASURED = 30  # characters between a number and its measure
_AND_OF = re.compile(rf"{NUMBER}[^\d.]*\band\s+of\s+(\d*\.\d+)")  # e.g. "41.2 on NQ and of 38.0 on FiQA"
_WHOLE = r"(?<![\d.,@-])(?P<whole>\d+)(?=\s*(?:%|percent\b))"
_DIFFERENCE = re.compile(
    rf"(?P<by>\b(?:relative\s+)?(?:by|gains?(?:\s+of)?|lead\s+of|margin\s+of|improvements?\s+of|increases?\s+of|drops?\s+of)\s+"
    rf"(?:only\s+|an?\s+|up\s+to\s+)*\+?)?(?P<share>relative\w*\s+)?(?:{NUMBER}|{_WHOLE})"
    r"\s*(?P<unit>%|percent\b|pp\b)?"
    r"(?P<words>(?:[\s-]*(?:absolute|relative|percentage|points?|pts?|higher|lower|better|worse|more|less))*)"
    r"\s*(?P<way>above|over|below|behind|than|ahead\s+of|under|improvement|gain|relative\s+to)?\b"
)
_UNPAIRED = re.compile(
    r"respectively|\b[Ff]rom\s+(?P<head>[a-z]+)\s+\d+\s+to\s+(?P=head)\s+\d+|\bdepth\s+of\b"
)
_Pair = tuple[Series, Value, Value]
_SAME = re.compile(r"(?i)\b(?:which|that)\s+(?:is|means|equals)\b[^.;\d]*$|\bi\.?e\.?[\s,]*$")
_OR = re.compile(r"[^.;\d(]{0,40}(?:\bor|\()\s*")  # e.g. "2.1 points over BM25 (5.3 %)"


def wrong_numbers(said: Systems) -> Findings:
    """Find scores that no matching cell has, e.g. "an nDCG@10 of 70.3 (Table 2)"."""
    if _UNCLEAR.search(said.text) or _OTHERS.search(said.text):
        return
    reached = [match["number"] for match in _REACHES.finditer(plain(said.text))]
    is_named = AVERAGE.search(said.text) or said.named()
    scores = list(_scores(said.text))
    scores += [other for one, other in _AND_OF.findall(plain(said.text)) if one in scores]
    for text in dict.fromkeys((*scores, *(reached if is_named else ()))):
        yield from _of_number(said, text)


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
    parts = re.split(r",?\s(?:and|while|with|but)\s|;", sentence)
    is_each = all(len(measures(part)) == len(re.findall(NUMBER, plain(part))) == 1 for part in parts)
    return next((part for part in parts if is_each and text in part), sentence)


def _of_number(said: Systems, text: str) -> Findings:
    known, scores = list[Value](), list[Series]()
    part = replace(said, text=_clause(said.text, text))
    for table in said.cited():
        own, lines = part.columns(table), said.subjects(table)
        about = (*said.scores(table), *part.scores(table))
        columns = [each for each in dict.fromkeys(about) if each in own]
        known += chain.from_iterable(each.on(lines) for each in columns)
        scores += columns
    right = chain.from_iterable(scores) if f"({text}" in said.text else known
    if not scores or any(map(partial(is_same, text), right)):
        return
    if near := list(filter(partial(is_near, text), known)):
        says = f"The text gives {text}"
        severity = "note" if any(is_same(text, value) for each in scores for value in each) else "doubt"
        yield said.finding(severity, "prose", says, f"The table has {listed(near[:3])}")
    elif (known or WE.search(said.text)) and not any(map(partial(is_in, text), said.tables)):
        why = "No table has this number for the named system and measure"
        yield said.finding("note", "prose", f"{text} is not in any matching cell", why)


def wrong_differences(said: Systems) -> Findings:
    """Find differences that the two named systems never have, e.g. "2.1 points above BM25"."""
    said = replace(said, text=plain(said.text))
    text = said.text
    bare = ("", "than", "over")
    found = [m for m in _DIFFERENCE.finditer(text) if m["by"] or " ".join(_words(m)) not in bare]
    found = [each for each in found if not _COSTS.search(text[max(each.start() - 25, 0) : each.end() + 40])]
    found = found if not (_OTHERS.search(text) or _UNPAIRED.search(text)) else []
    is_alone = all(_OR.fullmatch(text[one.end() : other.start()]) for one, other in pairwise(found))
    for before, match in pairwise((*found[:1], *found)):
        between = text[before.end() : match.start()]
        is_share = _OR.fullmatch(between) and "point" in before["words"] and not match["way"]
        same = before if is_share or _SAME.search(between) else match
        pairs, is_clear = _pairs(said, same.span(), said.cited(), is_alone=is_alone)
        if is_share:
            pairs = [pair for pair in pairs if _differ_by(*pair[1:], before)]
        yield from _of_difference(said, match, pairs, is_clear)


def _of_difference(said: Systems, match: re.Match[str], pairs: list[_Pair], is_clear: bool) -> Findings:
    quoted = _quoted(said.text, _stated(match), pairs)
    meant = quoted or pairs
    fitting = [(one, other) for _, one, other in meant if _differ_by(one, other, match)]
    severity = "doubt" if is_clear or quoted else "note"
    if not pairs:
        return
    if not fitting:
        says = f"The two systems never differ by {_stated(match)}"
        why = f"Their numbers include {_both(*meant[0][1:])}"
        yield said.finding(severity, "prose", says, why)
    elif all((one.number - other.number) * _way(match) < 0 for one, other in fitting):
        yield said.finding(severity, "prose", "The difference has the other sign", _both(*fitting[0]))


def _quoted(sentence: str, stated: str, pairs: Sequence[Any]) -> list[Any]:
    numbers = [n for n in re.findall(NUMBER, sentence) if n != stated]
    return [p for p in pairs if all(any(is_same(text, value) for text in numbers) for value in p[-2:])]


def _pairs(
    said: Systems, span: tuple[int, int], tables: Sequence[int], *, is_alone: bool = True
) -> tuple[list[_Pair], bool]:
    pairs, is_clear = list[_Pair](), True
    for table in tables:
        subjects, other = _compared(said.text, span, said.mentions(table), is_alone)
        if other is None:
            continue
        lines = [line for line in subjects or said.ours[table] if line != other]
        columns = [each for each in said.scores(table) if other in each.values]
        found = [(each, one, each.values[other]) for each in columns for one in each.on(lines)]
        is_clear &= len(subjects) == 1 or not found
        pairs += found
    return pairs, is_clear


def _compared(
    sentence: str, span: tuple[int, int], named: Mentions, is_alone: bool
) -> tuple[list[int], int | None]:
    than = [mention for mention in named if THAN.search(sentence[: mention[0]])]
    near = _right_behind(sentence, span[1], named)
    others = near or (than or named[1:] if is_alone else [])
    subjects = [mention[1] for mention in named if mention not in (*than, *near, *others[:1])]
    is_one = near or len(set(map(itemgetter(1), others))) == 1
    return subjects, others[0][1] if is_one else None


def _right_behind(sentence: str, end: int, named: Mentions) -> Mentions:
    behind = [mention for mention in named if mention[0] >= end][:1]
    return [m for m in behind if re.fullmatch(r"(?:(?!\band\b)[^\d,;]){0,30}", sentence[end : m[0]])]


def _both(one: Value, other: Value) -> str:
    return f"{one.text} and {other.text} at {one.place}"


def _words(match: re.Match[str]) -> list[str]:
    return f"{match['words']} {match['way'] or ''}".split()


def _way(match: re.Match[str]) -> int:
    up = {"above", "higher", "better", "more", "ahead"}.intersection(_words(match))
    down = {"below", "behind", "lower", "worse", "less", "under"}.intersection(_words(match))
    return bool(up) - bool(down)


def _differ_by(one: Value, other: Value, match: re.Match[str]) -> bool:
    text, words = _stated(match), " ".join((match["by"] or "", match["share"] or "", *_words(match)))
    if re.search("gain|improvement|increase", words):
        one, other = sorted((one, other), key=attrgetter("number"), reverse=True)
    if "relative" in words:
        return differs_by_share(one, other, text)
    return differs_by(one, other, text, is_share="point" not in words and "absolute" not in words)


def _stated(match: re.Match[str]) -> str:
    return str(match["number"] or match["whole"])


_TIMES = re.compile(
    r"(?P<times>\d+(?:\.\d+)?)\s*(?:times|[x×])\s+(?:faster|slower|smaller|larger|less|more|lower|higher)\b"
)
_STEP = re.compile(
    rf"(?i)\b(?P<way>drop|fall|decreas|declin|ris|increas|improv|grow)\w*\s+by\s+{NUMBER}\s*(?:points?|pp)?"
    r"\s+to\s+(?P<to>\d*\.\d+)(?![\d.]*\d)"
)


def wrong_ratios(said: Systems) -> Findings:
    """Find factors that two quoted costs do not have, e.g. "2.5 times faster than BM25 (20.0 ms)"."""
    series = chain.from_iterable(said.tables[n].grid.series for n in said.cited())
    costs = [list(combinations(each, 2)) for each in series if each.sign < 0]
    for match in _TIMES.finditer(said.text):
        quoted = [pair for each in costs for pair in _quoted(plain(said.text), match["times"], each)]
        if quoted and not any(_is_factor(pair, Decimal(match["times"])) for pair in quoted):
            says = f"The two systems do not differ {match['times']} times"
            yield said.finding("doubt", "prose", says, f"Their numbers include {_both(*quoted[0])}")


def _is_factor(pair: tuple[Value, Value], stated: Decimal) -> bool:
    low, high = sorted(pair, key=attrgetter("number"))
    slack = half_unit(decimals_of(stated)) * low.number + stated * low.half + high.half
    return abs(high.number - stated * low.number) <= slack


def wrong_steps(said: Systems) -> Findings:
    """Find changes that begin at no number of their column, e.g. "drops by 4.1 points to 37.1"."""
    for match in _STEP.finditer(said.text):
        columns = chain.from_iterable(said.tables[n].scores for n in said.cited())
        ends = [(each, value) for each in columns for value in each if is_same(match["to"], value)]
        if ends and not any(_is_step(match, *pair) for pair in ends):
            says = f"No number of the column is {match['number']} away"
            severity = "doubt" if said.meant() else "note"
            yield said.finding(severity, "prose", says, f"The table has {listed([ends[0][1]])}")


def _is_step(match: re.Match[str], series: Series, end: Value) -> bool:
    is_down = match["way"].lower() in ("drop", "fall", "decreas", "declin")
    begins = (v for v in series if (v.number > end.number) == is_down)
    return any(differs_by(end, value, match["number"], is_share=True) for value in begins)


_LEAST = re.compile(r"\bthe\s+(?:(?P<time>fastest)|smallest)\s+(?:of|among)\s+all\b")


def wrong_costs(said: Systems) -> Findings:
    """Find claims to be the fastest or smallest of all that a table refutes."""
    for match, table in product(_LEAST.finditer(said.text), said.meant()):
        kind = r"(?i)latenc|time|\(ms\)" if match["time"] else r"(?i)size|index|param|memory"
        grid, ours = said.tables[table].grid, said.subjects(table)
        for series in (s for s in grid.series if s.values and s.sign < 0 and re.search(kind, s.name)):
            least = min(series, key=attrgetter("number"))
            if any(least.number < value.number for value in series.on(ours)):
                why = f"{grid.where(series, least)} at {least.place}"
                yield said.finding("doubt", "claim", f"Not {match[0]}", why)


_BEST = re.compile(
    r"(?i)\b(?:best|highest|strongest|top)\b(?:\s+\w+){0,3}\s+(?:of|among|overall|on|in|across|MRR|nDCG|R)\b"
    r"|\b(?:best|highest)\s+(?:average|mean)\b|\bwins\s+(?:on|in)\b"
    r"|\boutperforms?\s+(?:all|every|any)\b|\bbetter\s+than\s+(?:all|every|any)\b|\b(?:is|performs|ranks)\s+(?:the\s+)?best\b"
)
_LIMITED = re.compile(
    r"(?i)\b(second|dense|sparse|lexical|supervised|unsupervised|single|size|sized|small|comparable|among the"
    r"|except|but|other than|than all other \w+ \w+ models|baselines? (?:with|without|of)|not|n't|never"
    r"|the (?:other|remaining)|(?:best|strongest|top) baselines?|only"
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
_AMONG = re.compile(r"(?i)\b(?:of|among)\s+(?:the|our|these)\s+[a-z]+\s+[a-z]")
_COUNT = re.compile(
    rf"(?i)\b(?:on|in|for)\s+(?P<but>all\s+(?:but|except)\s+)?(?P<wins>\d+|all|each|every|{NUMERALS})"
    rf"(?:\s+(?:out\s+)?of)?(?:\s+(?:the|all|these))*(?:\s+(?P<all>\d+|{NUMERALS}))?\b"
    r"(?:(?:\s+\w+)?\s+(?P<what>datasets?|collections?|benchmarks?|tasks?|corpora|sets?|languages?|domains?)\b)?"
)


def wrong_claims(said: Systems) -> Findings:
    """Find claims that tables refute, to be the best or to outperform a system on some collections."""
    verbs = sorted((*_BEATS.finditer(said.text), *_BEST.finditer(said.text)), key=re.Match.start)
    counts = [m for m in _COUNT.finditer(said.text) if m["all"] or m["what"]]
    if counts and verbs:
        for match in counts:
            verb = [each for each in verbs if each.end() <= match.end()][-1:] or verbs[:1]
            if not _AMONG.search(said.text[verb[0].start() : match.start()]):
                yield from _of_count(said, (match, verb[0]))
    elif _BEST.search(said.text) and not _LIMITED.search(said.text):
        yield from _of_best(said)
    elif _BEATS.search(said.text) and not _HEDGED.search(said.text):
        yield from _of_order(said)


_Claim = tuple[re.Match[str], re.Match[str]]  # a count and its verb


def _of_count(said: Systems, claim: _Claim) -> Findings:
    wins, whole, counted = numeral(claim[0]["wins"]), numeral(claim[0]["all"]), []
    if wins is not None and whole is None and not claim[0]["but"]:
        return  # e.g. "on 12 collections"
    for leads, at in _leads(said, claim):
        ahead, ties = sum(lead > 0 for lead in leads), leads.count(Decimal(0))
        stated = len(leads) - (wins or 0) if claim[0]["but"] or wins is None else wins
        if len(leads) > 2 and whole in (None, len(leads)):
            counted.append((not ahead <= stated <= ahead + ties, ahead, len(leads), at))
    for is_wrong, ahead, number, at in sorted(counted, key=lambda each: each[0])[:1]:
        if is_wrong:
            says = f"In the table, the first system is ahead on {ahead} of {number}"
            yield said.finding("doubt", "claim", says, f"Counted in the table at {at}")


def _leads(said: Systems, claim: _Claim) -> Iterator[tuple[list[Decimal], Place]]:
    meant, together = said.meant(), list[Decimal]()
    is_of_all = claim[0]["all"] or numeral(claim[0]["wins"]) is None
    for table in meant or (said.cited if is_of_all else said.judging)():
        place = said.tables[table].grid.table.place
        ahead = list(_ahead_by(table, said, claim))
        heads = (head for s, _ in ahead if measures(s.name) for head in s.heads[-1:])
        for name in dict.fromkeys(("", *heads)):
            yield [lead for series, lead in ahead if name in ("", *series.heads[-1:])], place
        together += [lead for _, lead in ahead]
    if meant and together:
        yield together, said.tables[meant[0]].grid.table.place


def _ahead_by(table: int, said: Systems, claim: _Claim) -> Iterator[tuple[Series, Decimal]]:
    (match, verb), named = claim, said.mentions(table)
    colon = said.text.rfind(": ", 0, verb.start())
    named = [mention for mention in named if mention[0] > colon] or named
    subjects = [line for at, line in named if at == named[0][0]]
    others = said.tables[table].grid.grouped_with(subjects)
    if _BEATS.match(verb[0]):
        behind = [(at, line) for at, line in named if at >= verb.end()]
        others = [line for at, line in behind if at < match.start()][-1:] or [line for _, line in behind[:1]]
    for series in said.columns(table):
        ours, beaten = series.on(subjects), series.on({*others} - {*subjects})
        if ours and beaten and not (series.total or series.has_unread):
            yield series, max(min(series.lead(our, value) for value in beaten) for our in ours)


def _of_best(said: Systems) -> Findings:
    ahead = [found for table in said.judging() for found in _ahead(table, said)]
    is_of_one = len({series.name for series, *_ in ahead}) == 1 or AVERAGE.search(said.text)
    if ahead and is_of_one and all(value for _, value, _ in ahead):
        [(series, value, label), *_] = ahead
        why = f"{label}, {series.name}: {value.text} at {value.place}"
        yield said.finding("doubt", "claim", "Not the best", why)


def _ahead(table: int, said: Systems) -> Iterator[tuple[Series, Any, str]]:
    grid = said.tables[table].grid
    subjects = [line for at, line in said.mentions(table) if _is_subject(said.text, at)]
    for series in said.scores(table):
        ours, rivals = series.on(subjects), series.on(grid.grouped_with(subjects))
        if ours and len(series.values) > 1:
            ahead = (v for v in rivals if all(series.lead(v, our) > 0 for our in ours))
            better = next(ahead, None)
            yield series, better, grid.label(better) if better else ""


def _is_subject(sentence: str, at: int) -> bool:
    is_early = at < len(_BEST.split(sentence, maxsplit=1)[0])
    return not _PLACE.search(sentence[:at]) and (is_early or not WE.match(sentence[at:]))


def _of_order(said: Systems) -> Findings:
    pairs, _ = _pairs(said, (len(said.text),) * 2, said.judging())
    if pairs and not re.search(NUMBER, said.text) and all(s.lead(*numbers) < 0 for s, *numbers in pairs):
        series, one, other = pairs[0]
        why = f"{series.name}: {_both(one, other)}"
        yield said.finding("doubt", "claim", "The first system is behind", why)
