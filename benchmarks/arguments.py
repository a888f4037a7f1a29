"""The types of the benchmarks' arguments; a wrong one is refused in a sentence, with exit status 2."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryFile

CODE = "repro/__init__.py"  # every checkout has it


def folder(text: str) -> Path:
    """The path of a folder that is there."""
    if not Path(text).is_dir():
        raise ArgumentTypeError(f"there is no folder {text!r}")
    return Path(text).resolve()


def checkout(text: str) -> Path:
    """The path of another checkout of the project."""
    path = folder(text)
    if not (path / CODE).is_file():
        raise ArgumentTypeError(f"{text!r} is no checkout of the project: it has no {CODE}")
    return path


def output(text: str | Path) -> Path:
    """The path of a folder that can be written, or made; it is not made here."""
    path = Path(text)
    try:
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not there.is_dir():
            raise ArgumentTypeError(f"{str(text)!r} cannot be a folder, since {str(there)!r} is a file")
        TemporaryFile(dir=there).close()  # tried, as permissions do not say whether a disk can be written
    except OSError as error:
        reason = f"nothing can be written into {str(text)!r} ({error.strerror}); name another folder"
        raise ArgumentTypeError(reason) from None
    return path


def names_among(known: Iterable[str]) -> Callable[[str], list[str]]:
    """A type of names with commas between them, each of them known."""
    known = list(known)

    def names(text: str) -> list[str]:
        given = text.split(",")
        if strange := [name for name in given if name not in known]:
            raise ArgumentTypeError(f"{strange[0]!r} is not known; known: {', '.join(known)}")
        return given

    return names


def sizes_of(known: Iterable[str]) -> Callable[[str], tuple[str, tuple[int, ...]]]:
    """A type of a work with its sizes, ``WORK=N,N,…``."""
    known = list(known)

    def sizes(text: str) -> tuple[str, tuple[int, ...]]:
        work, _, numbers = text.partition("=")
        if work not in known:
            raise ArgumentTypeError(f"there is no work {work!r}; known: {', '.join(known)}")
        each = numbers.split(",")
        if not all(number.isascii() and number.isdigit() and int(number) for number in each):
            raise ArgumentTypeError(f"{text!r} has no sizes; give numbers above 0, such as {work}=10,100")
        return work, tuple(map(int, each))

    return sizes
