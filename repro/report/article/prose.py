"""The prose of an article: Markdown in which ``{{name argument …}}`` stands for what is generated."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from repro.errors import ManifestError, ReproError, UsageError, unknown

FILE = "article.md"
NOT_MEASURED = "*not measured yet*"
NOT_TESTED = "*not tested*"  # measured, and by too few seeds for an interval
DIRECTIVE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def prose(folder: Path) -> tuple[Path, str]:
    """The article of a paper's folder. Raises UsageError where it has none."""
    path = folder / FILE
    if not path.exists():
        raise UsageError(f"{folder.name} has no article: write its prose in {path}")
    return path, path.read_text(encoding="utf-8")


def fill_directives(path: Path, text: str, directives: Mapping[str, Callable[..., str]]) -> str:
    """The text with every directive replaced.

    Args:
        path: of the prose, which an error names.
        directives: name -> a function of the directive's arguments, all of them words.

    Raises:
        ManifestError: with file and line, for a directive of an unknown name, or with arguments that it does
            not take or that name nothing.
    """

    def replacement(match: re.Match) -> str:
        try:
            return _call_directive(match[1], directives)
        except ReproError as error:
            line = text.count("\n", 0, match.start()) + 1
            raise ManifestError(f"{path}:{line}: {{{{{match[1].strip()}}}}}: {error}") from None

    return DIRECTIVE.sub(replacement, text)


def _call_directive(words: str, directives: Mapping[str, Callable[..., str]]) -> str:
    try:
        name, *arguments = shlex.split(words) or [""]
    except ValueError:
        raise UsageError("a directive is a name and its arguments, with quotes in pairs") from None
    if name not in directives:
        raise unknown("directive", name, directives)
    function = directives[name]
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        parameters = ", ".join(inspect.signature(function).parameters) or "nothing"
        raise UsageError(f"{name} takes {parameters}") from None
    return function(*arguments)
