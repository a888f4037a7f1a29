"""Identify the code of a stage, e.g. of ``repro.retrieval.stages.bm25``, by its imports and their data files.

Docstrings, comments and blank lines do not count.
"""

import ast
import functools
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.locations import PAPERS
from repro.machine.file_cache import kept

OURS = {"repro": Path(__file__).resolve().parents[2], "papers": PAPERS.parent}  # package -> its parent
# Fingerprints contain digests of rows instead
OF_COLLECTIONS = ("catalog.yaml", "homes.yaml", "published_rows.yaml")
LAZY = ("__getattr__", "__dir__")  # load names on request
CHILD = "CHILD"  # constant with the module of a child process


@dataclass(frozen=True)
class Code:
    """The ``digest`` of a stage's code. ``modules`` maps modules and data files to 8 digits of theirs."""

    digest: str
    modules: dict[str, str]


@functools.cache
def code(*entries: str) -> Code:
    """Return the ``Code`` of modules ("module" or "module:name") and their imports."""
    digests: dict[str, str] = {}
    pending = [entry.partition(":")[0] for entry in entries]
    packages = frozenset((*OURS, *(name.partition(".")[0] for name in pending)))
    while pending:
        if (name := pending.pop()) not in digests:
            module = _module(name, packages)
            digests[name] = module.digest if module else "missing"
            pending += module.imports if module else ()
            digests |= module.data if module else {}
    classes = [entry.partition(":")[2] for entry in entries]
    digest = _sha256("\n".join([*classes, *sorted(digests.values())]).encode())
    return Code(digest, {name: digests[name][:8] for name in sorted(digests)})


@dataclass(frozen=True)
class _Module:
    digest: str
    imports: tuple[str, ...]
    data: dict[str, str]


@functools.cache
def _module(name: str, packages: frozenset[str]) -> _Module | None:
    if (path := _path(name, packages)) is None:
        return None
    text = path.read_text(encoding="utf-8")
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    digest, names = kept(f"code of {package} {path}", text.encode(), lambda: _parsed(text, package))
    if not digest:
        return None
    imports = sorted(n for n in names if _path(n, packages) and n != name)
    others = (p for p in path.parent.iterdir() if p.suffix not in (".py", ".pyc") and p.is_file())
    files = (p for p in others if f'"{p.name}"' in text and p.name not in OF_COLLECTIONS)
    data = {file.name: _sha256(file.read_bytes()) for file in files}
    return _Module(digest, tuple(imports), data)


def _parsed(text: str, package: str) -> list:
    try:
        statements = list(_statements(ast.parse(text)))
    except (SyntaxError, ValueError):  # it cannot have made anything
        return ["", []]
    names = {package, *(n for s in statements for n in _imported(s, package))}
    return [_sha256(_code_lines(text, statements).encode()), sorted(names)]


def _path(name: str, packages: frozenset[str]) -> Path | None:
    parts = name.split(".")
    if parts[0] not in packages or not all(map(str.isidentifier, parts)):  # names may come from records
        return None
    if (folder := _folder(parts[0])) is None:
        return None
    place = folder.joinpath(*parts)
    return next((p for p in (place / "__init__.py", place.with_suffix(".py")) if p.is_file()), None)


def _folder(package: str) -> Path | None:
    if package in OURS:
        return OURS[package]
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.origin:
        return None
    origin = Path(spec.origin)
    return origin.parent.parent if spec.submodule_search_locations else origin.parent


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield child
            is_for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            is_for_users = isinstance(node, ast.Module) and getattr(child, "name", "") in LAZY
            if not (is_for_types or is_for_users):
                yield from _statements(child)


def _imported(statement: ast.AST, package: str) -> Iterator[str]:
    match statement:
        case ast.Import(names=names):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            parents = package.split(".")[: len(package.split(".")) + 1 - level] if level else []
            base = ".".join([*parents, *filter(None, [module])])
            modules = [f"{base}.{alias.name}" for alias in names]
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as module)):
            modules = [module] if name == CHILD else []
        case _:
            modules = []
    for module in modules:
        parts = module.split(".")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _code_lines(text: str, statements: Iterable[ast.AST]) -> str:
    docstrings = set[int]()
    for statement in statements:
        match statement:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=last):
                docstrings |= {*range(first, (last or 0) + 1)}
    lines = [line for number, line in enumerate(text.splitlines(), 1) if number not in docstrings]
    if '"""' in (rest := "\n".join(lines)) or "'''" in rest:
        return rest
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
