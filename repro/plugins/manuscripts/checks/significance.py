"""Checks significance and spread, e.g. "p < .05" on five queries."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise, product
from operator import attrgetter, itemgetter

from repro.plugins.manuscripts.checks import NUMERALS, Finding, Findings, numeral, quotes
from repro.plugins.manuscripts.checks.arithmetic import OVER, explanation, stated
from repro.plugins.manuscripts.notation import SPREAD
from repro.plugins.manuscripts.series import SPREADS, Grid, Series, Value
from repro.plugins.manuscripts.source_tables import Manuscript, Place

TEST = re.compile(
    r"(?i)\bt-?\s?tests?\b|\bp-?\s?values?\b|\bp\s*[<=≤>]|wilcoxon|bootstrap|mcnemar|randomi[sz]ation|permutation"
    r"|tukey|anova|fisher|sign\s+test|\w+\s+test(?:s|ed|ing)?\s+(?:of|for)\s+significance|significance\s+test"
    r"|statistical\s+test|confidence|bonferroni|holm\b|paired"
)
CLAIM = re.compile(
    r"(?i)\bsignificantly\s+(?:\w+\s+)?(?:better|outperform\w*|improv\w*|higher|exceed\w*|surpass\w*|worse|lower)"
    r"|\bstatistically\s+significant|\bsignificant\s+(?:improvements?|gains?|differences?)"
    r"|\b(?:improvements?|gains?|differences?)\s+(?:\w+\s+){0,5}(?:is|are)\s+significant"
)
_P_VALUE = re.compile(r"\bp\s*(?:-?value)?s?\s*(?:=|of|is)\s*(?P<p>0?\.\d+)")
_LEVEL = re.compile(r"\bp\s*[<≤]\s*(?P<level>0?\.\d+)")
_NEGATED = re.compile(
    r"(?i)\b(not|no|non|n't|never|neither|without|insignificant|los[et]\w*|fail\w*|lack\w*|vanish\w*|marginal\w*|but|whereas|while)\b|\bin-?significant"
)
_DENIED = re.compile(r"(?i)(?:\b(?:not(?!\s+only)|no|without)|n['’]t)\s+(?:\S+\s+){0,2}$")
_FEW = re.compile(rf"(?i)\b(?P<n>\d+|{NUMERALS})\s+(?:\w+\s+)?(?P<units>queries|topics|questions|users)\b")
_EXACT = re.compile(r"(?i)permutation|randomi[sz]ation|sign(?:ed-rank)?\s+test|wilcoxon")
_WORDS = {"†": "dagger", "‡": "double dagger", "*": "asterisk", "§": "section sign", "¶": "pilcrow"}


def of_texts(manuscript: Manuscript) -> Findings:
    """Find claims of significance without a test, or against their p-value or few queries."""
    texts = [*manuscript.prose]
    for table in manuscript.tables:
        texts += [(table.place, text) for text in (table.caption, *table.legend)]
    claims = [(place, match) for place, text in texts for match in CLAIM.finditer(text)]
    claims = [(at, match) for at, match in claims if not _DENIED.search(match.string[: match.start()])]
    for place, match in claims[: not TEST.search("\n".join(map(itemgetter(1), texts)))]:
        why = "The source names no test and no p-value"
        yield Finding("note", "significance", place, f"{match[0]!r} claims significance", why)
    for place, text in texts:
        for sentence in quotes.END.split(text):
            yield from _refuted(place, sentence)


def _refuted(place: Place, sentence: str) -> Findings:
    stated = [Decimal(match["level"]) for match in _LEVEL.finditer(sentence)]
    is_exact = stated and _EXACT.search(sentence)
    if not (is_exact or re.search("(?i)signific", sentence)) or _NEGATED.search(sentence):
        return
    level = min(stated, default=Decimal("0.05"))
    for match in _P_VALUE.finditer(sentence):
        if Decimal(match["p"]) >= max(level, Decimal("0.05")):
            says = f"The text claims significance with {match[0]}"
            yield Finding("doubt", "significance", place, says, f"The p-value is not below {level}")
    few = _FEW.search(sentence)
    if few and (number := numeral(few["n"])) and 1 < number < 30:
        least = Decimal(2) ** (1 - number)
        if least >= (level if is_exact else Decimal("0.05")):
            says = f"The text claims significance on {few[0]}"
            why = f"A sign or randomization test on {number} {few['units']} has a p-value of at least {least}"
            yield Finding("doubt", "significance", place, says, why)


_ALL = re.compile(
    rf"(?i)\b(?:all|each|every|both)\b(?:\s+(?:of|the|these))*(?:\s+(?P<n>\d+|{NUMERALS}))?\s+(?:\w+\s+)?"
    r"(?:cases?|data ?sets?|collections?|tasks?|benchmarks?|measures?|metrics?|languages?|settings?)\b"
)


def against_printed(grids: Sequence[Grid], manuscript: Manuscript) -> Findings:
    """Find claims, e.g. "significant in all cases", that the source's only series of p-values refutes."""
    found = [(grid, s) for grid in grids for s in grid.series if s.is_of_p_values and s.values]
    printed = [list(series) for _, series in found]
    for place, sentence in quotes.sentences(manuscript) if len(printed) == 1 else ():
        yield from _against_line(place, sentence, *found[0])
        match = _ALL.search(sentence) if re.search("(?i)signific", sentence) else None
        if match and not _NEGATED.search(sentence) and numeral(match["n"]) in (None, len(printed[0])):
            levels = [Decimal(each["level"]) for each in _LEVEL.finditer(sentence)]
            largest = max(printed[0], key=attrgetter("number"))
            if largest.number >= min(levels, default=Decimal("0.05")):
                says = f"The text claims significance for {match[0]}"
                why = f"The p-value is {largest.text} at {largest.place}"
                yield Finding("doubt", "significance", place, says, why)


def _against_line(place: Place, sentence: str, grid: Grid, p_values: Series) -> Findings:
    named, start = quotes.labels_in(sentence, quotes.Numbered("", grid)), 0
    for level in _LEVEL.finditer(sentence) if not _NEGATED.search(sentence) else ():
        lines = [line for at, line in named if start <= at < level.start()]
        start = level.end()
        for value in p_values.on(lines) if len(lines) == 1 else ():
            if value.number > Decimal(level["level"]):
                says = f"The text claims {level[0]} for {grid.label(value)}"
                why = f"The p-value is {value.text} at {value.place}"
                yield Finding("doubt", "significance", place, says, why)


def undefined_marks(grids: Sequence[Grid], prose: Sequence[tuple[Place, str]]) -> Findings:
    said = " ".join(text for _, text in prose)
    undefined = _WORDS.keys() - set("".join((said, *(grid.remarks for grid in grids))))
    for grid in grids:
        used = {mark: (series, value) for series, value in grid.numbers for mark in value.cell.marks}
        for mark in undefined.intersection(used):
            if _WORDS[mark] not in f"{grid.remarks} {said}".lower():
                says = f"{grid.where(*used[mark])} has the mark {mark}, which is defined nowhere"
                why = "Neither a caption nor the text contains it"
                yield Finding("note", "mark", used[mark][1].place, says, why)


def large_spreads(grid: Grid) -> Findings:
    """Find standard deviations above their mean, e.g. 12.3 ± 15.1, or above six times the next largest."""
    for means, deviations in pairwise(grid.series):
        if means.is_score and SPREADS.search("".join(deviations.heads[-1:])):
            for value in deviations:
                if 0 < means.values.get(value.line, value).number < value.number:
                    yield _too_large(grid.where(deviations, value), value)
    for series in grid.scores:
        found = [(v, SPREAD.search(v.text)) for v in series]
        spreads = [(Decimal(match["spread"]), value) for value, match in found if match and match["spread"]]
        *others, largest = sorted(number for number, _ in spreads) or [Decimal()]
        is_odd = len(others) > 2 and largest > 6 * max(others) > 0
        for spread, value in spreads:
            where = grid.where(series, value)
            if spread > value.number > 0:
                yield _too_large(where, value)
            elif is_odd and spread == largest:
                why = f"The others are up to {max(others)}"
                yield Finding("note", "spread", value.place, f"{where} has an unusual deviation", why)


def _too_large(where: str, value: Value) -> Finding:
    why = "Scores between 0 and 1, or 0 and 100 %, hardly vary so much"
    return Finding("doubt", "spread", value.place, f"{where}: The deviation is larger than the mean", why)


def fewer_datasets(grid: Grid) -> Findings:
    for series in (each for each in grid.series if each.total == "average"):
        if number := stated(grid, series):
            yield from _of_coverage(grid, series, number)


def wrong_coverage(said: quotes.Systems) -> Findings:
    for match, table in product(OVER.finditer(said.text), said.meant()):
        grid = said.tables[table].grid
        for series in (each for each in grid.series if each.total == "average"):
            for found in _of_coverage(grid, series, numeral(match["n"]) or 0):
                yield replace(found, place=said.place, says=found.says.replace("caption", "text"))


def _of_coverage(grid: Grid, series: Series, number: int) -> Findings:
    parts = explanation(grid, series)
    if not parts or parts.right < 2:
        return
    if number not in (len(parts.series), sum(parts.weights)):
        says = f"{series.name} covers {len(parts.series)} columns, and the caption says {number}"
        names = f"{parts.series[0].name} to {parts.series[-1].name}"
        why = f"It is the mean of {names} on {parts.right} lines"
        yield Finding("doubt", "average", next(iter(series)).place, says, why)
        return
    for value in (each for each in series if each.line not in parts.lines):
        own = replace(parts, series=tuple(each for each in parts.series if value.line in each.values))
        if own.lines.get(value.line):
            says = f"{grid.where(series, value)} covers {len(own.series)} of {number} columns"
            yield Finding("note", "average", value.place, says, "The others are empty")
