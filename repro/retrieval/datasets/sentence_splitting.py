"""Split English text into sentences, e.g. by ``nltk``, and pack sentences into spans."""

import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import BlockedError, DataError, check_known
from repro.locations import data_folder
from repro.machine.bounded_reading import read_facts
from repro.retrieval.datasets.digests import digest

SPLITTERS = ("nltk", "rules")
PUNKT = Path("nltk_data", "tokenizers", "punkt_tab", "english")  # below REPRO_DATA

# end marks, closing quotes and brackets, a blank, the start of a sentence
_END = r"""(?<![.!?])([.!?]++)["'”’)\]]*+(\s++)(?=[\p{Lu}\p{Nd}"'“‘])"""
_OPENING = "\"'“‘(["
FILE = Path(__file__).with_name("abbreviations.yaml")
ABBREVIATIONS = frozenset(word for line in read_facts(FILE) for word in line.split())
_LONGEST = max(map(len, ABBREVIATIONS)) + len(_OPENING)


@dataclass(frozen=True)
class SentenceSplitter:
    """A sentence splitter, e.g. with ``identity`` "rules 1". ``model`` is its files' digest, if any."""

    split: Callable[[str], list[str]]
    identity: str
    model: str | None = None


def check_splitter(name: str, data: Path | None) -> Path | None:
    """Return the model folder of splitter ``nltk`` below ``data``, or None for ``rules``.

    Raises UsageError for another name, BlockedError if nltk or its model is missing.
    """
    check_known("sentence splitter", name, valid=SPLITTERS)
    if name != "nltk":
        return None
    alternative = "or choose the splitter 'rules'"
    if importlib.util.find_spec("nltk") is None:
        cause = "nltk, which splits text into sentences, is not installed"
        raise BlockedError(cause, f"install repro-bench[sentences], {alternative}")
    if data is None or not (data / PUNKT).is_dir():
        place = data or data_folder()
        cause = f"nltk's English sentence model is not at {place / PUNKT}"
        download = f"`python -m nltk.downloader -d {place / 'nltk_data'} punkt_tab`"
        raise BlockedError(cause, f"run {download}, {alternative}")
    return data / PUNKT


def sentence_splitter(name: str, data: Path | None) -> SentenceSplitter:
    """Return a splitter. Raises as ``check_splitter``, and DataError for an unreadable model.

    ``nltk`` is its English ``sent_tokenize`` (Punkt, Kiss and Strunk 2006).
    """
    model = check_splitter(name, data)
    return _punkt_splitter(model) if model else SentenceSplitter(sentences_by_rules, "rules 1")


def sentences_by_rules(text: str) -> list[str]:
    """Split a text by a rule of our own.

    A sentence ends after ``.``, ``!`` or ``?`` and any closing quotes or brackets, if a blank and then an
    upper-case letter, a digit or a quote follow. A single full stop does not end it after ``ABBREVIATIONS``,
    e.g. "Dr.", or an upper-case letter other than I.
    """
    import regex

    parts, start = [], 0
    for match in regex.finditer(_END, text):
        last_word = text[max(start, match.start() - _LONGEST) : match.start()]
        if match[1] != "." or not _ends_in_abbreviation(last_word):
            parts.append(text[start : match.start(2)])
            start = match.end()
    return [sentence for part in (*parts, text[start:]) if (sentence := part.strip())]


def _ends_in_abbreviation(text: str) -> bool:
    words = text.split()
    word = words[-1].lstrip(_OPENING) if words and not text[-1].isspace() else ""
    return word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


def _punkt_splitter(folder: Path) -> SentenceSplitter:
    import nltk

    root = str(folder.parents[2])  # nltk only reads from its own list
    nltk.data.path.insert(0, root)
    try:
        from nltk.tokenize.punkt import PunktTokenizer

        split = PunktTokenizer(folder.name).tokenize
    except (LookupError, OSError, ValueError, TypeError) as error:
        line = re.search(r"\w.*", str(error))
        reason = line[0].strip() if line else type(error).__name__
        raise DataError(f"{folder}: nltk cannot read this as a Punkt model: {reason}") from None
    finally:
        nltk.data.path.remove(root)
    model = digest(sorted(path for path in folder.iterdir() if path.is_file()))
    identity = f"nltk {nltk.__version__}, punkt {model[:16]}"
    return SentenceSplitter(lambda text: split(text.strip()), identity, model)


SHORTEST_TARGET = 2  # tokens


def packed(
    lengths: Sequence[int],
    *,
    target: int,
    overshoot: bool,
    short_probability: float,
    generator: Any,
) -> list[int]:
    """Pack consecutive sentences into spans, and return the number of sentences in each.

    Args:
        lengths: (S,), tokens of each sentence, all at least 1.
        target: tokens of a span, at least 2.
        overshoot: whether the sentence that exceeds the target still belongs to the span.
        short_probability: the probability that a span's target is drawn from 2..``target`` instead.
    """

    def draw_target() -> int:
        is_short = short_probability > 0 and generator.random() < short_probability
        return int(generator.integers(SHORTEST_TARGET, target, endpoint=True)) if is_short else target

    spans: list[int] = []
    span_target, sentences, tokens = draw_target(), 0, 0
    for length in lengths:
        if not overshoot and sentences and tokens + length > span_target:
            spans.append(sentences)
            span_target, sentences, tokens = draw_target(), 0, 0
        sentences, tokens = sentences + 1, tokens + length
        if overshoot and tokens > span_target:
            spans.append(sentences)
            span_target, sentences, tokens = draw_target(), 0, 0
    return [*spans, sentences] if sentences else spans
