"""YAML and other files that come with the package: read unchecked, found in source, and told by content."""

import ast
import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What these say of rows is part of fingerprints, as a digest of the rows themselves; the rest of them says
# where files lie, what they cost and who may use them.
IN_FINGERPRINTS = ("catalog.yaml", "homes.yaml")
_SAME_PLACE = ("Path", "resolve", "absolute", "abspath", "realpath", "fspath", "str")
_OF_PACKAGES = ("files", "get_data", "read_text", "read_binary", "open_text", "open_binary", "path")
_RENAMED = ("with_name", "with_suffix", "with_stem")
_CALLS = {*_SAME_PLACE, *_OF_PACKAGES, *_RENAMED, "joinpath", "join", "dirname"}


def read_facts(path: Path) -> Any:
    """The plain values of a YAML file of the package, by libyaml, which is ten times as fast."""
    import yaml

    return yaml.load(path.read_bytes(), yaml.CSafeLoader)  # a safe loader: it makes plain values only


def digest_of_data(path: str) -> str:
    """sha256, in hexadecimal, of the values that a file holds, in their order; of no values, of its bytes.

    Comments and layout of YAML and JSON are no part of it.
    """
    file = Path(path)
    if file.name in IN_FINGERPRINTS:
        return hashlib.sha256(b"").hexdigest()
    content = file.read_bytes()
    try:
        if file.suffix in (".yaml", ".yml"):
            content = repr(read_facts(file)).encode()
        elif file.suffix == ".json":
            content = repr(json.loads(content)).encode()
    except (ValueError, RecursionError, ImportError, _yaml_error()):
        pass
    return hashlib.sha256(content).hexdigest()


def data_files(place: Path) -> list[Path]:
    """The file at a place, or all of a folder in a package, as far as they are data and no source."""
    if place.is_file():
        return [] if place.suffix == ".py" else [place]
    is_inner = (place.parent / "__init__.py").is_file()
    if not is_inner and not (place / "__init__.py").is_file():
        return []  # what all of a suite lies in is where other things are sought
    paths = place.rglob("*") if is_inner else place.glob("*")
    return sorted(p for p in paths if p.is_file() and p.suffix not in (".py", ".pyc"))


@functools.cache
def _yaml_error() -> type[Exception]:
    import yaml

    return yaml.YAMLError


@dataclass(frozen=True)
class Places:
    """Finds the places that expressions in a module stand for, as far as they can be told without running it.

    Attributes:
        file: the module's own.
        stated: the place or text that a name, or an attribute of a module, stands for.
        folder: the folder of the package that an expression names.
    """

    file: Path
    stated: Callable[[ast.Name | ast.Attribute], Path | str | None]
    folder: Callable[[ast.AST], Path | None]

    def find(self, node: ast.AST) -> Path | str | None:
        """The place, or the text, that an expression stands for; None where it cannot be told."""
        match node:
            case ast.Name(id="__file__"):
                return self.file
            case ast.Constant(value=str() as text):
                return text
            case ast.Attribute(value=inner, attr="parent"):
                return self._above(inner, 0)
            case ast.Name() | ast.Attribute():
                return self.stated(node)
            case ast.Subscript(value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=n)):
                return self._above(inner, n)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._join(self.find(left), [right])
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments)
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=arguments):
                return self._method(self.find(inner), name, arguments) or self._call(name, arguments)
        return None

    def _above(self, node: ast.expr, number: int) -> Path | None:
        place = self.find(node)
        above = place.parents if isinstance(place, Path) else ()
        return above[number] if number in range(len(above)) else None

    def _join(self, place: Path | str | None, others: list[ast.expr]) -> Path | None:
        parts = [self.find(other) for other in others]
        is_known = isinstance(place, Path) and all(isinstance(part, str) for part in parts)
        return place.joinpath(*parts) if is_known else None

    def _method(self, place: Path | str | None, name: str, arguments: list[ast.expr]) -> Path | None:
        if not isinstance(place, Path):
            return None
        if name in _RENAMED:
            part = self.find(arguments[0]) if arguments else None
            return getattr(place, name)(part) if isinstance(part, str) else None
        if name == "joinpath":
            return self._join(place, arguments)
        return place if name in _SAME_PLACE else None

    def _call(self, name: str, arguments: list[ast.expr]) -> Path | None:
        if name not in _CALLS or not arguments:
            return None
        if name in _OF_PACKAGES:
            return self._join(self.folder(arguments[0]), arguments[1:])
        place = self.find(arguments[0])
        if name == "join" or not isinstance(place, Path):
            return self._join(place, arguments[1:])
        return place.parent if name == "dirname" else place if name in _SAME_PLACE else None


def may_be_place(node: ast.AST) -> bool:
    """Whether an expression has a form of those that ``Places`` tells."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _CALLS
        case ast.Attribute(attr="parent") | ast.Subscript(value=ast.Attribute(attr="parents")):
            return True
        case ast.BinOp(op=ast.Div()) | ast.Name(id="__file__"):
            return True
    return False
