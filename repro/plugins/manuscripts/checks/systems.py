"""The systems that sentences mean by names, or by "we" and "our model", e.g. the row "Otter (ours)"."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from repro.plugins.manuscripts.checks.across import without_remarks
from repro.plugins.manuscripts.checks.quotes import TABLE, Numbered, labels_in, series_in
from repro.plugins.manuscripts.series import Series, Value
from repro.plugins.manuscripts.source_tables import Manuscript

WE = re.compile(
    r"(?i)\b(we|ours?(?:\s+(?:best\s+)?(?:full\s+)?(?:model|method|approach|system|retriever|encoder)s?)?"
    r"|the\s+proposed\s+\w+|this\s+(?:model|method|approach))\b"
)
_OURS = re.compile(r"(?i)\bours?\b|\bthis (?:work|paper)\b|\bproposed\b")
_NAMED = re.compile(
    r"\b(?:propose|present|introduce|call(?:ed|\s+it|\s+this)?|named?|dub(?:bed)?)\s+(?:it\s+)?"
    r"(?P<name>[A-Z][\w+-]+)"
)


@dataclass(frozen=True)
class Systems:
    """The tables of a source and the names of its own system."""

    tables: tuple[Numbered, ...]
    names: frozenset[str]

    @classmethod
    def of(cls, manuscript: Manuscript, tables: Sequence[Numbered]) -> "Systems":
        """Return the systems of a source. A title "Otter: …" and "we propose Otter" name its own."""
        title = manuscript.front.get("title", "").partition(":")[0].strip()
        found = (match["name"] for _, text in manuscript.prose for match in _NAMED.finditer(text))
        return cls(tuple(tables), frozenset(filter(None, (title.lower(), *map(str.lower, found)))))

    @cached_property
    def ours(self) -> Mapping[int, list[int]]:
        """The lines of the paper's own system, by the index of a table."""
        return {number: self._ours(table) for number, table in enumerate(self.tables)}

    def _ours(self, table: Numbered) -> list[int]:
        lines = {n: line.label for n, line in table.grid.lines.items()}
        marked = [n for n, label in lines.items() if _OURS.search(label)]
        named = [n for n, label in lines.items() if without_remarks(label).lower() in self.names]
        return named or marked

    def cited(self, sentence: str) -> list[int]:
        """Return the indices of the tables that a sentence cites, or of all if it cites none."""
        pointers = {match["table"] for match in re.finditer(TABLE, sentence)}
        found = [n for n, table in enumerate(self.tables) if table.number in pointers]
        return found if pointers else list(range(len(self.tables)))

    def subjects(self, table: int, sentence: str) -> list[int]:
        """Return the lines of a table that a sentence names, or means by "we"."""
        named = labels_in(sentence, self.tables[table])
        means_ours = WE.search(sentence) is not None and not set(named) & set(self.ours[table])
        return [*named, *(self.ours[table] if means_ours else ())]

    def pair(self, table: int, sentence: str) -> tuple[int, int] | None:
        """Return two compared lines in the order of the sentence, with the paper's own for "we"."""
        lines, at = self.subjects(table, sentence), dict[int, int]()
        for line in lines:
            label = re.escape(without_remarks(self.tables[table].grid.lines[line].label))
            named = re.search(rf"(?<![\w-]){label}(?![\w-])", sentence) or WE.search(sentence)
            at[line] = named.start() if named else 0
        if len(lines) != 2 or at[lines[0]] == at[lines[1]]:
            return None
        first, second = sorted(lines, key=at.__getitem__)
        return first, second

    def scores(self, table: int, sentence: str) -> list[Series]:
        """Return the scores of a table that a sentence is about, without averages unless it names them."""
        if re.search(r"(?i)\baverag", sentence):
            return [each for each in self.tables[table].grid.series if each.total == "average"]
        named = series_in(sentence, self.tables[table])
        headed = [each for each in named if each.dataset is None and _is_headed(each, sentence)]
        return headed or named

    def names_column(self, sentence: str) -> bool:
        """Return whether a sentence names a collection or the heading of a column."""
        scores = (each for table in self.tables for each in table.grid.scores)
        return any(_is_headed(each, sentence) for each in scores)

    def values(self, table: int, sentence: str) -> list[Value]:
        """Return the numbers of the systems and scores of a sentence."""
        lines = self.subjects(table, sentence)
        scores = self.scores(table, sentence)
        return [each.values[line] for each in scores for line in lines if line in each.values]


def _is_headed(series: Series, sentence: str) -> bool:
    names = [head for head in series.heads if len(head) > 2 and not head.isdigit()]
    return any(re.search(rf"(?<![\w-]){re.escape(head)}(?![\w-])", sentence) for head in names)
