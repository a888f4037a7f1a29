"""The collections and measures that headings name, e.g. "MRR@10" for ``RR@10``."""

import functools
import re
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from repro.machine.bounded_reading import read_facts
from repro.retrieval.evaluation.measures import families

Sure = Literal["certain", "likely", "unknown", "elsewhere"]
FILE = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True)
class Resolution:
    """A collection or a measure (in ir_measures' notation) of a heading, or None. ``sure`` is ``elsewhere``
    if the suite lacks it. The first of ``choices`` is the usual one."""

    value: str | None = None
    sure: Sure = "unknown"
    reason: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedMeasure:
    name: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return f"{self.name}@{self.cutoff}" if self.cutoff else self.name


@dataclass(frozen=True)
class NamedCollection:
    """A collection of vocabulary.yaml. If it is only likely, ``because`` is the reason."""

    id: str
    names: tuple[frozenset[str], ...]
    because: str = ""
    measures: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    is_elsewhere: bool = False

    def size(self, plain: frozenset[str]) -> int:
        return max((len(name) for name in self.names if name <= plain), default=0)


@functools.cache
def facts() -> dict[str, Any]:
    return read_facts(FILE)


@functools.cache
def words(text: str) -> frozenset[str]:
    """Return a text's words and numbers in lower case, spelt as in vocabulary.yaml."""
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    spellings = facts()["spellings"]
    return frozenset(spellings.get(piece, piece) for piece in re.findall(r"[a-z]+|\d+", plain))


@functools.cache
def measures(text: str) -> dict[NamedMeasure, tuple[int, int]]:
    """Return measure -> its span in a text. MRR is left out beside e.g. MRR@10."""
    spans: dict[NamedMeasure, tuple[int, int]] = {}
    for name, pattern in _patterns():
        for match in filter(_is_measure, pattern.finditer(text)):
            spans.setdefault(NamedMeasure(name, _cutoff(match["a"] or match["b"])), match.span())
    cut = {measure.name for measure in spans if measure.cutoff}
    return {measure: span for measure, span in spans.items() if measure.cutoff or measure.name not in cut}


def _cutoff(text: str | None) -> int | None:
    return int(re.sub(r"[\s,]", "", text.lower()).replace("k", "000")) if text else None


def _is_measure(match: re.Match[str]) -> bool:
    if match[0][:3].lower() != "top":
        return True
    others = words(f"{match.string[: match.start()]} {match.string[match.end() :]}")
    return not others or bool(named_collections(others))


def without_measures(text: str) -> frozenset[str]:
    for first, last in sorted(measures(text).values(), reverse=True):
        text = f"{text[:first]} {text[last:]}"
    return words(text)


def names_something(text: str) -> bool:
    return bool(measures(text) or named_collections(without_measures(text)))


def is_name(text: str) -> bool:
    """Return whether a text contains a measure or is a collection's name."""
    plain = words(text)
    names = frozenset[str]().union(*(n for each in _collections() for n in each.names if n <= plain))
    others = plain - names.union(*facts()["refinements"])
    is_collection = names and not any(len(word) > 2 and word.isalpha() for word in others)
    return bool(measures(text) or is_collection)


@functools.cache
def named_collections(plain: frozenset[str], measure: str | None = None) -> list[NamedCollection]:
    """Return the collections with the longest name among these words, if ``measure`` fits them."""
    meant = [each for each in _collections() if not (measure and each.measures) or measure in each.measures]
    most = max(each.size(plain) for each in meant)
    return [each for each in meant if each.size(plain) == most] if most else []


def collection(plain: frozenset[str], measure: str | None = None) -> Resolution:
    """Return the collection that words name. A measure may decide between two."""
    named = named_collections(plain, measure)
    ids = tuple(dict.fromkeys(each.id for each in named if not each.is_elsewhere))
    if not named:
        return Resolution(reason="no collection is named")
    if not ids:
        return Resolution(None, "elsewhere", f"the catalogue has no {named[0].id}")
    if len(ids) > 1:
        return Resolution(reason=f"it may be {' or '.join(ids)}", choices=ids)
    because = min((each.because for each in named), key=len)
    return Resolution(ids[0], "likely" if because else "certain", because)


def measure_on(measure: NamedMeasure, on: Resolution) -> Resolution:
    """Resolve a measure on a collection. The result has no value if its meaning there is unclear."""
    family = families()[measure.name]
    if not family.scored:
        return Resolution(None, "elsewhere", f"the suite does not compute {measure.name}")
    if measure.cutoff is None:
        return _with_usual_cutoff(measure, on)
    if on.value is not None:
        return _on_catalogued(measure, on.value)
    reason = "the lowest relevant grade depends on the unknown collection"
    if measure.name in ("R", "Success"):
        choices = dict.fromkeys((str(measure), f"Success@{measure.cutoff}"))
        return Resolution(None, "unknown", reason, tuple(choices))
    return Resolution(str(measure), *(("likely", reason) if family.graded else ("certain", "")))


def _with_usual_cutoff(measure: NamedMeasure, on: Resolution) -> Resolution:
    usual = (n for word, n in families()[measure.name].usual.items() if word in (on.value or ""))
    if (cutoff := next(usual, None)) is None:
        return Resolution(reason=f"the heading names {measure} without a cutoff")
    meant = measure_on(replace(measure, cutoff=cutoff), on)
    reason = f"no cutoff is named, and {cutoff} is the usual one"
    return replace(meant, sure="likely", reason=reason) if meant.value else meant


def _on_catalogued(measure: NamedMeasure, id: str) -> Resolution:
    from repro.retrieval.datasets.catalog import dataset

    entry = dataset(id)
    if (levels := _levels(id)) and families()[measure.name].graded:
        names = (f"{measure.name}(rel={level})" if level > 1 else measure.name for level in levels)
        choices = tuple(f"{name}@{measure.cutoff}" for name in names)
        reason = f"the lowest relevant grade is not named, and {id} has grades"
        return Resolution(None, "unknown", reason, choices)
    if measure.name != "R":
        return Resolution(str(measure), "certain")
    if entry.answers:
        reason = "recall is the share of questions with an answer in the first passages there"
        return Resolution(f"Success@{measure.cutoff}", "likely", reason)
    if id.startswith("msmarco") and entry.counts["qrels"] > entry.counts["queries"]:
        reason = f"the mean share of relevant passages and the share of queries with one differ on {id}"
        return Resolution(None, "unknown", reason, (str(measure), f"Success@{measure.cutoff}"))
    return Resolution(str(measure), "certain")


def _levels(id: str) -> tuple[int, ...]:
    return next((each.levels for each in _collections() if each.id == id), ())


@functools.cache
def _collections() -> tuple[NamedCollection, ...]:
    entries = []
    for entry in facts()["collections"]:
        measures, levels = (tuple(entry.get(name, ())) for name in ("measures", "levels"))
        names = tuple(map(words, entry["words"]))
        entries.append(NamedCollection(entry["id"], names, entry.get("because", ""), measures, levels))
    for name, texts in facts()["elsewhere"].items():
        entries.append(NamedCollection(name, tuple(map(words, texts)), is_elsewhere=True))
    return tuple(entries)


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    cut = r"(?P<{}>[1-9]\d{{0,2}}(?:,?000)?\s?k?)(?![\d.%])"
    patterns = []
    for family in families().values():
        if not family.words:
            continue
        long = "|".join(re.escape(word).replace(r"\ ", r"\s") for word in family.words)
        short = "|".join(map(re.escape, family.short)) or "(?!)"
        spelt = rf"(?:{long})(?:[\s@_-]*{cut.format('a')}|(?![a-z])@?)"
        text = rf"(?<![a-z])(?:{spelt}|(?:{short})\s?@\s?{cut.format('b')})"
        patterns.append((family.name, re.compile(text, re.IGNORECASE)))
    return tuple(patterns)
