"""The contents of single definitions, and the keys of the definitions that they name, in any module."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from repro.machine.bounded_reading import read_facts
from repro.machine.scopes import (
    PLAIN_DECORATORS,
    Module,
    Scope,
    assigned_names,
    imports_of,
    is_main_guard,
    loaded_by,
    without_docstring,
)

if TYPE_CHECKING:
    from repro.machine.source_code import Sources

Key = tuple[str, str]  # a module and a name in it; WHOLE is all of it, FILE a file of data, "#0" a statement
WHOLE, FILE = "*", "@"
# What these say of rows is part of fingerprints, as a digest of the rows themselves; the rest of them says
# where files lie, what they cost and who may use them.
IN_FINGERPRINTS = ("catalog.yaml", "homes.yaml")
_SAME_PLACE = ("Path", "resolve", "absolute", "abspath", "realpath", "fspath", "str")
_OF_PACKAGES = ("files", "get_data", "read_text", "read_binary", "open_text", "open_binary", "path")
_RENAMED = ("with_name", "with_suffix", "with_stem")
_CALLS = {*_SAME_PLACE, *_OF_PACKAGES, *_RENAMED, "joinpath", "join", "dirname"}
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\.|\.[A-Za-z_]\w*|:[A-Za-z_]\w*)")


@dataclass(frozen=True)
class Definition:
    """A definition by what it says.

    Attributes:
        digest: over its syntax tree, where what it names of ours stands by its bare name, and what is of a
            library by its whole name, so that imports and aliases are no part of it.
        keys: the definitions that it names, in the order in which it names them.
        modules: modules of ours that it imports itself.
        libraries: the top names of what else it names.
    """

    digest: str
    keys: tuple[Key, ...] = ()
    modules: frozenset[str] = frozenset()
    libraries: frozenset[str] = frozenset()


@dataclass
class Reader:
    """Reads definitions of one module into words, and notes what they name."""

    sources: Sources
    module: str
    source: Module
    words: list[str] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)
    libraries: set[str] = field(default_factory=set)
    scopes: list[Scope] = field(default_factory=list)
    is_saying: bool = False  # while a raise is read

    @property
    def definition(self) -> Definition:
        """All that was read so far."""
        digest = hashlib.sha256("\n".join(self.words).encode()).hexdigest()
        return Definition(digest, tuple(self.keys), frozenset(self.modules), frozenset(self.libraries))

    def read(self, value) -> None:
        """Read a node, a list of nodes, or a plain value of one."""
        if isinstance(value, ast.AST):
            if not self._is_place(value):
                getattr(self, f"_{type(value).__name__}", self._node)(value)
        elif isinstance(value, list):
            self.words.append("[")
            for item in value:
                self.read(item)
            self.words.append("]")
        else:
            self.words.append(repr(value))

    def refer(self, targets: Iterable[Key]) -> None:
        """Name definitions, whole modules and, with an empty module, what is of a library."""
        for module, name in targets:
            if module:
                self.words.append(f"-> {name}")
                self.keys.append((module, name))
            else:
                self.words.append(name)
                self.libraries.add(name.partition(".")[0])

    def _node(self, node: ast.AST, *, without: tuple[str, ...] = ()) -> None:
        self.words.append(type(node).__name__)
        unread = ("ctx", "kind", "type_comment", *without)
        for name in node._fields:
            value = getattr(node, name, None)
            # what is empty is left out, since a later Python has fields that an earlier one has not
            if value is not None and name not in unread and value != []:
                self.words.append(name)
                self.read(value)
        self.words.append(")")

    def place(self, node: ast.AST) -> Path | str | None:
        """Return the place, or the text, that an expression stands for; None where it cannot be told."""
        match node:
            case ast.Name(id="__file__"):
                return self.source.path
            case ast.Constant(value=str() as text):
                return text
            case ast.Attribute(value=inner, attr="parent"):
                return self._above(inner, 0)
            case ast.Name() | ast.Attribute():
                return self._stated(node)
            case ast.Subscript(ast.Attribute(inner, attr="parents"), ast.Constant(value=int() as number)):
                return self._above(inner, number)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._join(self.place(left), [right])
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments)
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=arguments):
                return self._method(self.place(inner), name, arguments) or self._call(name, arguments)
        return None

    def _above(self, node: ast.expr, number: int) -> Path | None:
        place = self.place(node)
        above = place.parents if isinstance(place, Path) else ()
        return above[number] if number in range(len(above)) else None

    def _join(self, place: Path | str | None, others: list[ast.expr]) -> Path | None:
        parts = [part for other in others if isinstance(part := self.place(other), str)]
        return place.joinpath(*parts) if isinstance(place, Path) and len(parts) == len(others) else None

    def _method(self, place: Path | str | None, name: str, arguments: list[ast.expr]) -> Path | None:
        if not isinstance(place, Path):
            return None
        if name in _RENAMED:
            part = self.place(arguments[0]) if arguments else None
            return getattr(place, name)(part) if isinstance(part, str) else None
        if name == "joinpath":
            return self._join(place, arguments)
        return place if name in _SAME_PLACE else None

    def _call(self, name: str, arguments: list[ast.expr]) -> Path | None:
        if name not in _CALLS or not arguments:
            return None
        if name in _OF_PACKAGES:
            return self._join(self._folder(arguments[0]), arguments[1:])
        place = self.place(arguments[0])
        if name == "join" or not isinstance(place, Path):
            return self._join(place, arguments[1:])
        return place.parent if name == "dirname" else place if name in _SAME_PLACE else None

    def _is_place(self, node: ast.AST) -> bool:
        """Return whether a node is the place of something beside a module, then read by its content."""
        if not may_be_place(node) or not isinstance(place := self.place(node), Path):
            return False
        self._refer_to_place(place)
        if isinstance(node, ast.Name):  # a place that is put together from this while running
            self._refer_to_place(place.parent)
        return True

    def _refer_to_place(self, place: Path) -> None:
        if module := self.sources.module_at(place):
            return self.refer([(module, WHOLE)])
        self.sources.places.add(place)
        files = data_files(place)
        self.words.append("data" if files else f"place {self.sources.relative(place)}")
        self.keys += [(str(file), FILE) for file in files]

    def _stated(self, node: ast.Name | ast.Attribute) -> Path | str | None:
        """Return the place or text that a module's constant, or a variable assigned once, stands for."""
        for scope in reversed(self.scopes) if isinstance(node, ast.Name) else ():
            if isinstance(node, ast.Name) and node.id in scope.names:
                value = scope.constants.get(node.id) if b"__file__" in self.source.words else None
                return self.place(value) if value is not None and may_be_place(value) else None
        targets = self._targets(node)
        return self.sources.stated(*targets[0]) if len(targets) == 1 else None

    def _Assign(self, node: ast.Assign) -> None:
        """Leave a folder that is given a name to where the name is used, which tells what of it is read."""
        match node.targets:
            case [ast.Name(id=name)] if may_be_place(node.value) and self._is_only_value(name, node.value):
                place = self.place(node.value)
                if isinstance(place, Path) and self._is_folder(place):
                    self.words += ["Assign", name, self.sources.relative(place)]
                    return
        self._node(node)

    def _is_only_value(self, name: str, value: ast.expr) -> bool:
        """Return whether a name has this value everywhere in its scope, as far as functions go."""
        return not self.scopes or self.scopes[-1].constants.get(name) is value

    def _folder(self, node: ast.AST) -> Path | None:
        """Return the folder of the package of ours that an argument of ``importlib.resources`` names."""
        is_here = isinstance(node, ast.Name) and node.id in ("__package__", "__name__")
        name = self.source.package if is_here else getattr(node, "value", None)
        targets = [] if is_here else self._targets(node)
        name = targets[0][0] if targets and targets[0][1] == WHOLE else name
        source = self.sources.module(name) if isinstance(name, str) else None
        return source.path.parent if source else None

    def _targets(self, node: ast.AST) -> list[Key]:
        """Return what a name, or a name behind modules, is known to mean; nothing for all else."""
        if isinstance(node, ast.Name):
            return self._lookup(node.id)
        if not isinstance(node, ast.Attribute):
            return []
        targets = []
        for module, name in self._targets(node.value):
            if not module:
                targets.append(("", f"{name}.{node.attr}"))
            elif name == WHOLE:
                targets += self.sources.member(module, node.attr)
        return targets

    def _lookup(self, name: str) -> list[Key]:
        for place, scope in enumerate(reversed(self.scopes)):
            if name in scope.names and (place == 0 or not scope.is_class):
                imported = scope.names[name]
                return [key for base, member in imported for key in self.sources.imported(base, member)]
        targets = self.sources.resolve(self.module, name)
        if not targets and name in ("globals", "__name__", "__package__", "__spec__"):
            return [(self.module, WHOLE)]  # by which any of its names can be reached
        return targets

    def _Name(self, node: ast.Name) -> None:
        if targets := self._lookup(node.id):
            self.refer(targets)
        else:
            self.words.append(f"Name {node.id}")
        self._refer_to_folder(node)

    def _Attribute(self, node: ast.Attribute) -> None:
        if targets := self._targets(node):
            self.refer(targets)
            self._refer_to_folder(node)
        else:
            self._node(node)

    def _refer_to_folder(self, node: ast.Name | ast.Attribute) -> None:
        place = self._stated(node) if isinstance(node.ctx, ast.Load) else None
        if isinstance(place, Path) and self._is_folder(place):
            self._refer_to_place(place)

    def _is_folder(self, place: Path) -> bool:
        self.sources.places.add(place)
        return place.is_dir()

    def _Constant(self, node: ast.Constant) -> None:
        if self.is_saying and isinstance(node.value, str):
            return
        targets = list(self._named(node.value)) if isinstance(node.value, str) else []
        if targets:
            self.refer(targets)
        else:
            self.words.append(f"Constant {node.value!r}")

    def _named(self, text: str) -> Iterator[Key]:
        """Yield what a string names: "module", that may run, "module:name", or the start "package."."""
        if not _DOTTED.fullmatch(text):
            return
        module, colon, name = text.partition(":")
        if module.endswith("."):
            yield from ((inner, WHOLE) for inner in self.sources.inside(module[:-1], deep=True))
        elif self.sources.module(module):
            yield from self.sources.resolve(module, name) if colon else [(module, WHOLE)]
            if not colon and self.sources.module(f"{module}.__main__"):
                yield f"{module}.__main__", WHOLE

    def _Raise(self, node: ast.Raise) -> None:
        """Read an error's class and the values that it carries, but not what it says."""
        self.is_saying = True
        self._node(node)
        self.is_saying = False

    def _JoinedStr(self, node: ast.JoinedStr) -> None:
        if not self.is_saying:
            self._node(node)

    def _Import(self, node: ast.Import | ast.ImportFrom) -> None:
        package = self.source.package
        self.modules |= set(self.sources.loaded(loaded_by(node, package)))
        used = self.scopes[-1].used if self.scopes else ()
        for name, targets in imports_of(node, package):
            if name not in used:  # it is imported for what the import does
                self.refer(key for target in targets for key in self.sources.imported(*target) if not key[0])

    _ImportFrom = _Import

    def _If(self, node: ast.If) -> None:
        if not is_main_guard(node) or self.scopes:
            return self._node(node)
        self.words.append("If main")
        self.read(node.body)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        is_field = self.scopes and self.scopes[-1].is_class  # where dataclasses and pydantic read it
        self._node(node, without=() if is_field else ("annotation",))

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        decorators = getattr(node, "decorator_list", [])
        self.words += [type(node).__name__, getattr(node, "name", "")]
        self.read(decorators)
        names = [name for d in decorators for _, name in self._targets(getattr(d, "func", d))]
        keeps_annotations = any(not name.startswith(PLAIN_DECORATORS) for name in names)
        arguments = node.args
        for kind in ("posonlyargs", "args", "vararg", "kwonlyargs", "kwarg"):
            declared = getattr(arguments, kind)
            for one in declared if isinstance(declared, list) else filter(None, [declared]):
                self.words.append(f"{kind} {one.arg}")
                if keeps_annotations and one.annotation:
                    self.read(one.annotation)
        self.read(arguments.defaults)
        self.read(arguments.kw_defaults)
        self._within(Scope.of_function(node, self.source.package), node.body)

    _AsyncFunctionDef = _Lambda = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef) -> None:
        self.words += ["ClassDef", node.name]
        for part in (node.decorator_list, node.bases, node.keywords):
            self.read(part)
        scope, package = Scope({}, is_class=True), self.source.package
        self.scopes.append(scope)
        for statement in without_docstring(node.body):
            self.read(statement)
            scope.names |= assigned_names([statement], package)  # what stands before it means what is outside
        self.scopes.pop()
        self.words.append(")")

    def _ListComp(self, node) -> None:
        self.words.append(type(node).__name__)
        self.read(node.generators[0].iter)  # in the scope outside, as Python does
        names = assigned_names([g.target for g in node.generators], "")
        self.scopes.append(Scope(names))
        self._node(node)
        self.scopes.pop()

    _SetComp = _GeneratorExp = _DictComp = _ListComp

    def _within(self, scope: Scope, body) -> None:
        self.scopes.append(scope)
        self.read(without_docstring(body) if isinstance(body, list) else body)
        self.scopes.pop()


def digest_of_data(path: str) -> str:
    """Return the hexadecimal sha256 of a file's values, in their order; of its bytes where it holds none.

    Comments and layout of YAML and JSON are no part of it.
    """
    import yaml

    file = Path(path)
    if file.name in IN_FINGERPRINTS:
        return hashlib.sha256(b"").hexdigest()
    content = file.read_bytes()
    with contextlib.suppress(ValueError, RecursionError, yaml.YAMLError):
        if file.suffix in (".yaml", ".yml"):
            content = repr(read_facts(file)).encode()
        elif file.suffix == ".json":
            content = repr(json.loads(content)).encode()
    return hashlib.sha256(content).hexdigest()


def data_files(place: Path) -> list[Path]:
    """Return the file at a place, or all of a folder in a package, as far as they are data and no source."""
    if place.is_file():
        return [] if place.suffix == ".py" else [place]
    is_inner = (place.parent / "__init__.py").is_file()
    if not is_inner and not (place / "__init__.py").is_file():
        return []  # what all of a suite lies in is where other things are sought
    paths = place.rglob("*") if is_inner else place.glob("*")
    return sorted(p for p in paths if p.is_file() and p.suffix not in (".py", ".pyc"))


def may_be_place(node: ast.AST) -> bool:
    """Return whether an expression has a form of those of which ``Reader.place`` finds the place."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _CALLS
        case ast.Attribute(attr="parent") | ast.Subscript(value=ast.Attribute(attr="parents")):
            return True
        case ast.BinOp(op=ast.Div()) | ast.Name(id="__file__"):
            return True
    return False
