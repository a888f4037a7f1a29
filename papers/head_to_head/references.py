"""The works that the article of the study cites, and how it cites them."""

from pathlib import Path
from string import ascii_lowercase as LETTERS

import yaml

from repro.manifest.papers import papers
from repro.plugins.studies.words import join

FILE = Path(__file__).with_name("bibliography.yaml")

OBJECTIVES = ("costa", "cpdae", "cotmae_v2", "simlm")  # of the papers that are compared


class References:
    """The works that the article cites, by name: papers of the suite, and works of bibliography.yaml."""

    def __init__(self) -> None:
        works = yaml.safe_load(FILE.read_text(encoding="utf-8"))
        for name, source in ((name, papers()[name]) for name in OBJECTIVES):
            venue, _, year = source.manifest.venue.rpartition(" ")
            facts = {"title": source.manifest.title, "venue": venue, "year": year, "doi": source.manifest.doi}
            works |= {name: facts | {"authors": source.manifest.authors}} if source.manifest.authors else {}
        self._works: dict[str, dict] = works
        # letters distinguish works with the same authors and year, e.g. 2021a and 2021b
        short = {name: f"{self._authors(name)} {work['year']}" for name, work in sorted(works.items())}
        for text in short.values():
            alike = [name for name in short if short[name] == text]
            for name, letter in zip(alike, LETTERS, strict=False):
                works[name]["letter"] = letter if len(alike) > 1 else ""

    def cite(self, *names: str) -> str:
        """Return works as "(Holm 1979; Gao and Callan 2021)". Raises KeyError for an unknown one."""
        return f"({'; '.join(f'{self._authors(name)} {self._year(name)}' for name in names)})"

    def cite_in_text(self, *names: str) -> str:
        """Return works as "Lin (2018), Holm (1979) and …". Raises KeyError for an unknown one."""
        return join([f"{self._authors(name)} ({self._year(name)})" for name in names])

    def cited(self) -> list[str]:
        """Return the names of all works, sorted by authors and year."""
        return sorted(self._works, key=lambda name: (self._authors(name), self._year(name)))

    def reference(self, name: str) -> str:
        """Return a work's line in the list of references, in Markdown."""
        work = self._works[name]
        doi = f" doi:{work['doi']}." if work.get("doi") else ""
        return f"{join(work['authors'])} ({self._year(name)}). {work['title']}. *{work['venue']}*.{doi}"

    def _authors(self, name: str) -> str:
        first, *others = (author.rpartition(" ")[2] for author in self._works[name]["authors"])
        return f"{first} and {others[0]}" if len(others) == 1 else f"{first} et al." if others else first

    def _year(self, name: str) -> str:
        return f"{self._works[name]['year']}{self._works[name]['letter']}"
