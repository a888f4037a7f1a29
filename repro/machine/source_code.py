"""The code that a piece of work rests on, known by what it says and not by where it lies.

It is the top-level definitions that are reached, by the names in them, from where the work begins. Source is
read as text and not imported for it. What cannot be told from the text counts as a whole: a module that is
handed about, one that a string names, a package of which a string names the beginning.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import time_ns
from typing import Any
from uuid import uuid4

import yaml

from repro.locations import PAPERS, code_folder
from repro.machine.definitions import FILE, WHOLE, Definition, Key, Reader, digest_of_data, may_be_place
from repro.machine.scopes import Module

OURS = {"repro": Path(__file__).resolve().parents[2], "papers": PAPERS.parent}  # package -> what it lies in
MISSING = "missing"


@dataclass(frozen=True)
class Code:
    """The source that a piece of work rests on.

    Attributes:
        digest: sha256, in hexadecimal, over what the definitions say and which of them each names.
        definitions: bare name -> 8 digits of a digest of what the definition says; of several, each.
        libraries: the top names of everything else that they name.
    """

    digest: str
    definitions: dict[str, str]
    libraries: frozenset[str]


@functools.cache
def code(*entries: str) -> Code:
    """Return the code reached from "module:name", or from the ``run`` of "module", else from all of it."""
    tops = {entry.partition(":")[0].partition(".")[0] for entry in entries}
    sources = sources_of(frozenset((*OURS, *tops)))
    if kept := sources.kept and sources.kept.read(entries):
        return Code(kept["digest"], kept["definitions"], frozenset(kept["libraries"]))
    result = _code(sources, entries)
    if sources.kept:
        facts = asdict(result) | {"libraries": sorted(result.libraries)}
        sources.kept.write(entries, facts, sources.places)
    return result


def _code(sources: "Sources", entries: tuple[str, ...]) -> Code:
    roots = [sources.entry(entry) for entry in entries]
    reached = sources.reached([key for keys in roots for key in keys])
    names = _by_name(reached) | {
        entry: MISSING for entry, keys in zip(entries, roots, strict=True) if not keys
    }
    libraries = frozenset().union(*(definition.libraries for definition in reached.values()))
    return Code(_digest(reached, roots), dict(sorted(names.items())), libraries)


def _by_name(reached: dict[Key, Definition]) -> dict[str, str]:
    digests: dict[str, set[str]] = {}
    for (place, name), definition in reached.items():
        shown = {FILE: Path(place).name, WHOLE: "(module)", "#": "(statement)"}.get(name[0], name)
        digests.setdefault(shown, set()).add(definition.digest[:8])
    return {name: " ".join(sorted(each)) for name, each in digests.items()}


def _digest(reached: dict[Key, Definition], roots: list[list[Key]]) -> str:
    """Return a digest that tells which definition each name means, also where several are called alike.

    Each round adds to what a definition says the digests of what it names, until no two are told apart anew.
    """
    digests = {key: definition.digest for key, definition in reached.items()}
    count = 0
    while count < (count := len(set(digests.values()))):
        digests = {
            key: _sha256(definition.digest, *(digests[k] for k in definition.keys))
            for key, definition in reached.items()
        }
    return _sha256(*(_sha256(*(digests[key] for key in keys)) for keys in roots), *sorted(digests.values()))


def _sha256(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


class Sources:
    """The modules of some packages, each read once; an edit made later has no part in this process."""

    def __init__(self, packages: frozenset[str]):
        self.packages = packages
        self.places: set[Path] = set()  # of which it was asked what lies there
        self.module, self.resolve = functools.cache(self._module), functools.cache(self._resolve)
        self.definition = functools.cache(self._definition)
        self.effects, self.stated = functools.cache(self._effects), functools.cache(self._stated)

    @functools.cached_property
    def kept(self) -> "KeptCode | None":
        """What was found before of the same files; None with packages of others, who knows how large."""
        folders = [root / package for package, root in OURS.items()]
        is_ours = self.packages == OURS.keys() and all(folder.is_dir() for folder in folders)
        return KeptCode(folders) if is_ours else None

    def _module(self, name: str) -> Module | None:
        """Return the module of that name; None where it is none, of another package, or no Python."""
        parts = name.split(".")
        if parts[0] not in self.packages or not all(
            map(str.isidentifier, parts)
        ):  # names come from records, too
            return None
        place = (_folder(parts[0]) or OURS["repro"]).joinpath(*parts)
        path = next((p for p in (place / "__init__.py", place.with_suffix(".py")) if p.is_file()), None)
        if path is None:
            return None
        text = path.read_bytes()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):  # nothing can have been made by it
            return None
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        return Module.of(path, text, tree, package=package, packages=self.packages)

    def entry(self, entry: str) -> list[Key]:
        """Return the definitions that work begins with; one that has moved since is found by its name."""
        module, colon, name = entry.partition(":")
        name = name.partition(".")[0] if colon else "run"
        if targets := [key for key in self.resolve(module, name) if key[0]]:
            return targets
        if not colon:
            return [(module, WHOLE)] if self.module(module) else []
        return self._moved(module.partition(".")[0], name)

    def _moved(self, package: str, name: str) -> list[Key]:
        """Return the one definition of that name, in its own package or else in any."""
        for packages in ([package], sorted(self.packages)):
            modules = (m for each in packages for m in self.inside(each, deep=True))
            if len(keys := [(m, name) for m in modules if (s := self.module(m)) and name in s.units]) == 1:
                return keys
        return []

    def inside(self, package: str, *, deep: bool = False) -> list[str]:
        """Return the modules in a package, or also those in its packages."""
        source = self.module(package)
        if source is None or source.path.name != "__init__.py":
            return []
        paths = source.path.parent.glob("**/*.py" if deep else "*")
        names = {p.relative_to(source.path.parent).with_suffix("").parts for p in paths}
        names = {name[:-1] if name[-1] == "__init__" else name for name in names} - {()}
        return [
            name for name in (f"{package}.{'.'.join(parts)}" for parts in sorted(names)) if self.module(name)
        ]

    def _resolve(self, module: str, name: str, seen: tuple[Key, ...] = ()) -> list[Key]:
        """Return what a name of a module means: definitions, whole modules, and names of libraries."""
        source = self.module(module)
        if source is None or (module, name) in seen:
            return []
        targets, seen = [(module, name)] if name in source.units else [], (*seen, (module, name))
        for base, member in source.imports.get(name, ()):
            targets += [t for t in self.imported(base, member, seen) if t not in targets]
        if not targets:
            targets = [target for star in source.stars for target in self.resolve(star, name, seen)]
        return targets

    def imported(self, base: str, member: str, seen: tuple[Key, ...] = ()) -> list[Key]:
        """Return what an import of a member, or of the module itself, means."""
        if base.partition(".")[0] not in self.packages or not (member or self.module(base)):
            return [("", ".".join(filter(None, [base, member])))]
        return self.member(base, member, seen) if member else [(base, WHOLE)]

    def member(self, module: str, name: str, seen: tuple[Key, ...] = ()) -> list[Key]:
        """Return what an attribute of a module means; all of the module where that cannot be told."""
        if targets := self.resolve(module, name, seen):
            return targets
        if self.module(f"{module}.{name}"):
            return [(f"{module}.{name}", WHOLE)]
        return [(module, WHOLE)] if self.module(module) else [("", f"{module}.{name}")]

    def loaded(self, names: Iterable[str]) -> list[str]:
        """Return those names that are modules of these packages, and the packages that these lie in."""
        parts = (name.split(".") for name in names if name.partition(".")[0] in self.packages)
        prefixes = (".".join(p[:count]) for p in parts for count in range(1, len(p) + 1))
        return [name for name in dict.fromkeys(prefixes) if self.module(name)]

    def _stated(self, module: str, name: str) -> Path | str | None:
        """Return the place or text that a constant states, as far as its own module tells it."""
        source = self.module(module) if module else None
        values = [getattr(s, "value", None) for s in source.units.get(name, ())] if source else []
        if source is None or len(values) != 1 or values[0] is None:
            return None
        if not (isinstance(values[0], ast.Constant) or may_be_place(values[0])):
            return None
        return Reader(self, module, source).place(values[0])

    def module_at(self, place: Path) -> str | None:
        """Return the module whose source lies at a place; None where it is no source of ours."""
        relative = self.relative(place)
        name = relative.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return name if relative.endswith(".py") and self.module(name) else None

    def relative(self, place: Path) -> str:
        """Return a place as seen from what the suite, or the papers, lie in."""
        return next(
            (place.relative_to(root).as_posix() for root in OURS.values() if root in [place, *place.parents]),
            str(place),
        )

    def _definition(self, key: Key) -> Definition:
        """Return what a definition, a file of data, a statement or a whole module says."""
        module, name = key
        if name == FILE:
            return Definition(digest_of_data(module))  # the file's name is no part of it
        source = self.module(module)
        assert source, "keys are of modules that there are"
        reader = Reader(self, module, source)
        if name == WHOLE:
            for each in sorted(source.units.keys() | source.imports.keys()):
                reader.refer(self.resolve(module, each))
            reader.refer((star, WHOLE) for star in source.stars if self.module(star))
            reader.read(source.guarded)
        else:
            reader.read([source.statements[int(name[1:])]] if name[0] == "#" else source.units[name])
        return reader.definition

    def _effects(self, module: str) -> frozenset[Key]:
        """Return the statements that do something when a module is loaded, with all that it loads."""
        pending, seen = self.loaded([module]), set[str]()
        keys: set[Key] = set()
        while pending:
            if (name := pending.pop()) not in seen and (source := self.module(name)):
                seen.add(name)
                keys |= {(name, f"#{number}") for number in range(len(source.statements))}
                keys |= {(name, each) for each in source.decorated()}
                pending += self.loaded(source.loads)
        return frozenset(keys)

    def reached(self, roots: Iterable[Key]) -> dict[Key, Definition]:
        """Return the definitions that others name, beginning with ``roots``, and what loading them does."""
        found: dict[Key, Definition] = {}
        pending, loaded = list(roots), set[str]()
        while pending:
            if (key := pending.pop()) in found:
                continue
            found[key] = definition = self.definition(key)
            pending += definition.keys
            modules = definition.modules if key[1] == FILE else {key[0], *definition.modules}
            for module in modules - loaded:
                pending += self.effects(module)
            loaded |= modules
        return found


@functools.cache
def sources_of(packages: frozenset[str]) -> Sources:
    """Return the modules of these packages, as they are when they are first asked for."""
    return Sources(packages)


def _folder(package: str) -> Path | None:
    """Return the folder that holds a package, where ``papers`` is always the suite's own."""
    if package in OURS and (OURS[package] / package).is_dir():
        return OURS[package]
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # no name of a module, or one that was not imported from a file
        return None
    if spec is None or not spec.origin:
        return None
    origin = Path(spec.origin)
    return origin.parent.parent if spec.submodule_search_locations else origin.parent


SETTLED = 10**9  # nanoseconds after which an edit has a time of its own
MOST = 500  # files that are kept, the last ones


class KeptCode:
    """Facts of code, each in a file named by where it begins and by what every file of some folders says.

    The rules by which code is found lie in these folders, too, so that no fact outlives a rule. Whoever can
    write the files can have other code taken for the one here, as by those of ``__pycache__``.
    """

    def __init__(self, folders: Iterable[Path]):
        self._folders = list(folders)
        self._stamps = _stamps(self._folders)
        contents = {
            os.path.relpath(path, self._folders[0].parent): stamp
            and hashlib.sha256(Path(path).read_bytes()).hexdigest()
            for path, stamp in sorted(self._stamps.items())
        }
        self._key = json.dumps([sys.version, yaml.__version__, contents])

    def read(self, entries: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the facts of what begins there; None where none are kept, or their file is damaged."""
        with contextlib.suppress(OSError, ValueError):
            digest, _, text = self._file(entries).read_text("utf-8").partition("\n")
            return json.loads(text) if digest == _sha256(text) else None
        return None

    def write(self, entries: tuple[str, ...], facts: dict[str, Any], places: Iterable[Path]) -> None:
        """Keep facts, unless a file was edited while they were found, or the folder cannot be written.

        Args:
            places: all that were looked at; with one beside the folders nothing is kept.
        """
        # with an edit just made, a second one may not show: clocks tick
        is_settled = all(time < time_ns() - SETTLED for *_, time in filter(None, self._stamps.values()))
        is_same = self._stamps and is_settled and _stamps(self._folders) == self._stamps
        if not is_same or not all(map(self._is_known, places)):
            return
        text, file = json.dumps(facts), self._file(entries)
        scratch = file.with_suffix(f".{uuid4().hex}")
        with contextlib.suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            scratch.write_text(f"{_sha256(text)}\n{text}", "utf-8")
            scratch.replace(file)
            for old in sorted(file.parent.iterdir(), key=os.path.getmtime)[:-MOST]:
                old.unlink()

    def _file(self, entries: tuple[str, ...]) -> Path:
        return code_folder() / f"{_sha256(json.dumps([entries, self._key]))}.json"

    def _is_known(self, place: Path) -> bool:
        """Return whether a place lies in one of the folders, or is what holds one."""
        is_inside = any(folder in (place, *place.parents) for folder in self._folders)
        return ".." not in place.parts and (is_inside or place in [f.parent for f in self._folders])


def _stamps(folders: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Return what shows an edit of each file, and nothing for a folder; empty where one is a link."""
    stamps: dict[str, tuple[int, ...]] = {}
    for folder, inner, files in (place for top in folders for place in os.walk(top)):
        inner[:] = [name for name in inner if name != "__pycache__"]
        for name in [*inner, *files]:
            s = os.lstat(path := f"{folder}/{name}")
            if stat.S_ISLNK(s.st_mode):  # it leads elsewhere
                return {}
            stamps[path] = () if name in inner else (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
    return stamps
