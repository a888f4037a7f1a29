"""A source of any form, read whole."""

import re
from pathlib import Path, PurePosixPath

from repro.errors import DataError, UsageError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.latex import read_latex
from repro.plugins.manuscripts.tables import Manuscript, Place, SourceTable
from repro.plugins.manuscripts.text_tables import HTML, MARKDOWN, SEPARATED, read_tables

_LATEX = (".tex", ".ltx")
_TABLES = (*MARKDOWN, *SEPARATED, *HTML)
_CLASS = re.compile(r"\\documentclass(?!.*\{(?:subfiles|standalone)\})")
_INPUT = re.compile(r"\\(?:input|include|subfile)\s*\{([^{}\\]+)\}")
_MAIN = ("main", "ms", "paper", "root", "article", "manuscript")
Read = tuple[list[SourceTable], list[tuple[Place, str]], dict[str, str], list[str]]


def read(path: Path) -> Manuscript:
    """Return the tables, prose and labels of a LaTeX file, of files of tables, or of a folder or archive.

    A file of tables is Markdown, CSV, TSV or HTML; beside LaTeX in a folder it is not read. Nothing is
    written, and nothing outside of the folder is read.

    Raise:
        UsageError: there is nothing at ``path``, or no source.
        DataError: it cannot be read: binary, broken, too large, a file that reads itself in, macros without
            end, or there is no table.
    """
    try:
        tables, prose, labels, notes = _read(Files(path))
    except RecursionError:
        raise DataError(f"{path}: its braces or environments are nested too deeply to be read") from None
    if not tables:
        hint = f" ({notes[0]})" if notes else ""
        raise DataError(f"{path}: there is no table in it{hint}")
    return Manuscript(path, tuple(tables), tuple(prose), labels, tuple(notes))


def _read(files: Files) -> Read:
    endings = {name: _ending(name) for name in files}
    if not {*endings.values()}.isdisjoint(_LATEX) or {*endings.values()}.isdisjoint(_TABLES):
        first, notes = _main_files(files)
        tables, prose, labels, more = read_latex(files, first)
        return tables, prose, labels, [*notes, *more]
    tables, prose = [], []
    for name in (name for name, ending in endings.items() if ending in _TABLES):
        own_tables, own_prose = read_tables(files, name)
        tables, prose = tables + own_tables, prose + own_prose
    return tables, prose, {}, []


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _main_files(files: Files) -> tuple[list[str], list[str]]:
    """Return the files to begin with, and what has to be said of the choice.

    That is the one with a document of its own; of several the one that is called like a paper, or is longest.
    Where there is none, as in a folder of tables, all files that no other reads in.
    """
    if files.only:
        return [_source(files)], []
    texts = {name: re.sub(r"(?<!\\)%.*", "", files.text(name)) for name in files if _ending(name) in _LATEX}
    if not texts:
        raise DataError(f"{files.path}: has no file that ends in {', '.join((*_LATEX, *_TABLES))}")
    papers = [name for name, text in texts.items() if _CLASS.search(text) and "\\begin{document}" in text]
    if not papers:
        return _outer(texts), []
    papers.sort(key=lambda name: (PurePosixPath(name).stem.lower() not in _MAIN, -len(texts[name])))
    others = ", ".join(papers[1:])
    return papers[:1], [f"{files.shown(papers[0])}: read as the paper, and not {others}"] if others else []


def _outer(texts: dict[str, str]) -> list[str]:
    """Return the files that no other reads in."""
    inner = {
        PurePosixPath(match[1].strip()).stem for text in texts.values() for match in _INPUT.finditer(text)
    }
    return [name for name in texts if PurePosixPath(name).stem not in inner] or list(texts)


def _source(files: Files) -> str:
    """Return the one file that was named, if it can be LaTeX."""
    text = files.text(files.only)
    if not text.strip():
        raise DataError(f"{files.path}: is empty")
    if _ending(files.only) not in _LATEX and "\\begin" not in text:
        raise UsageError(
            f"{str(files.path)!r} is no source of tables: that is LaTeX, {', '.join(_TABLES)}, "
            f"a folder or an archive"
        )
    return files.only
