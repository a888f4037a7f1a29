"""BibTeX of the suite and of the papers that a study is about, as far as their manifests state it."""

from collections.abc import Iterator, Mapping

import yaml

from repro import __version__
from repro.locations import PAPERS
from repro.manifest.papers import Paper, papers

CITATION = PAPERS.parent / "CITATION.cff"  # which only a checkout has


def bibtex(source: Paper) -> str:
    """The entries, in a block of code."""
    signed_papers = [paper for paper in papers().values() if paper is not source and paper.manifest.authors]
    entries = [*_suite_entry(), *map(_paper_entry, signed_papers)]
    return "\n".join(["```bibtex", "\n\n".join(entries), "```"])


def _suite_entry() -> Iterator[str]:
    if CITATION.exists():
        citation = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
        fields = {
            "title": f"{{{citation['title']}}}",
            "author": " and ".join(f"{{{author['name']}}}" for author in citation["authors"]),
            "year": str(citation["date-released"])[:4],
            "version": __version__,
            "note": citation["license"],
        }
        yield _entry("software", "repro", fields)


def _paper_entry(paper: Paper) -> str:
    manifest = paper.manifest
    venue, _, year = manifest.venue.rpartition(" ")
    preprint = venue == "arXiv"
    fields = {
        "title": f"{{{manifest.title}}}",
        "author": " and ".join(manifest.authors),
        "booktitle": "" if preprint else venue,
        "year": year,
        "doi": manifest.doi or "",
        "eprint": manifest.arxiv or "",
        "eprinttype": "arxiv" if manifest.arxiv else "",
    }
    return _entry("misc" if preprint else "inproceedings", paper.name, fields)


def _entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
