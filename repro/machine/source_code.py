"""Digests of the modules that a piece of work imports, which are read as text and not imported for it."""

import ast
import functools
import hashlib
import importlib.util
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.locations import PAPERS

OURS = {"repro": Path(__file__).resolve().parents[2], "papers": PAPERS.parent}  # package -> what it lies in
# the suite's version, its sentences and its bars move no number
WITHOUT_EFFECT = ("repro", "repro.errors", "repro.progress")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Code:
    """The source that a piece of work rests on.

    Attributes:
        modules: module -> the first 16 digits of its digest, in the order of names.
        libraries: the top names of everything else that these modules import.
    """

    modules: dict[str, str]
    libraries: frozenset[str]

    @property
    def digest(self) -> str:
        """sha256, in hexadecimal, over the names and digests of the modules."""
        lines = "".join(f"{name} {digest}\n" for name, digest in self.modules.items())
        return hashlib.sha256(lines.encode()).hexdigest()


def code(*modules: str) -> Code:
    """The modules and all that they import of ``repro``, ``papers`` and their own packages.

    An import inside a function counts, and so does a module named by a string, as a child process or a recipe
    names one.
    """
    packages = {*OURS, *(module.partition(".")[0] for module in modules)}
    queue, digests, libraries = list(modules), {}, set()
    while queue:
        name = queue.pop()
        top = name.partition(".")[0]
        if top not in packages:
            libraries.add(top)
        elif name not in digests and (source := _source(name)):
            digests[name] = source.digest
            if name != "repro":  # which names modules for those who ask it for them, and imports none
                queue += source.imports
    names = sorted(digests.keys() - set(WITHOUT_EFFECT))
    return Code({name: digests[name] for name in names}, frozenset(libraries))


def digest(module: str) -> str | None:
    """The digest of a module's source as it is here, as :class:`Code` has it; None where there is none."""
    source = _source(module)
    return source.digest if source else None


@dataclass(frozen=True)
class _Source:
    digest: str
    imports: tuple[str, ...]


@functools.cache  # of what was imported at about that time; an edit made later has no part in this process
def _source(module: str) -> _Source | None:
    """A module's digest and every name that may be a module it imports; None where it is no module."""
    parts = module.split(".")
    place = (_folder(parts[0]) or OURS["repro"]).joinpath(*parts)
    path = next((p for p in (place / "__init__.py", place.with_suffix(".py")) if p.is_file()), None)
    if path is None or not all(map(str.isidentifier, parts)):  # names come from records, too
        return None
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # nothing can have been made by it
        return None
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    packages = (".".join(parts[:count]) for count in range(1, len(parts)))
    digest = hashlib.sha256(repr(_shape(tree)).encode()).hexdigest()[:16]
    return _Source(digest, tuple(dict.fromkeys([*packages, *_imports(tree, package)])))


def _folder(package: str) -> Path | None:
    """The folder that holds a package, where ``papers`` is always the suite's own."""
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


def _shape(value):
    """A syntax tree as lists, without docstrings and what depends on the version of Python."""
    if isinstance(value, ast.AST):
        fields = dict(ast.iter_fields(value))
        if isinstance(value, _WITH_DOCSTRING) and _has_docstring(value):
            fields["body"] = fields["body"][1:]
        parts = [(name, _shape(field)) for name, field in fields.items() if field is not None and field != []]
        return [type(value).__name__, *parts]
    return [_shape(item) for item in value] if isinstance(value, list) else value


def _has_docstring(node: ast.AST) -> bool:
    first = node.body[0] if node.body else None
    constant = first.value if isinstance(first, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _module_names(node.value)


def _module_names(text: str) -> Iterable[str]:
    """The modules that a string names: "module", "module:name", or a package to be run."""
    name = text.partition(":")[0]
    if name.partition(".")[0] not in OURS or not _DOTTED.fullmatch(name):
        return ()
    return name, f"{name}.__main__"
