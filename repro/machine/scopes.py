"""The names that a piece of source gives meanings to: by import, or by any other statement."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

Import = tuple[str, str]  # a module and a name of it; the empty name is the module itself, "*" every name
Names = dict[str, list[Import]]  # name -> what is imported as it; nothing where it is assigned
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# decorators that do nothing but what they say when a module is loaded, and read no annotations
PLAIN_DECORATORS = ("functools.", "contextlib.", "dataclasses.", "typing.", "abc.")
_WORD, _COMMENT = re.compile(rb"[A-Za-z_]\w*"), re.compile(rb"#.*")
_OWN_SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)
_NAMED = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.ClassDef, *FUNCTIONS)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_IMPORTS, _OUTER = (ast.Import, ast.ImportFrom), (ast.Global, ast.Nonlocal)
_SIGNS = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


@dataclass
class Scope:
    """The names that mean something else within a function or class.

    Attributes:
        names: what is imported as each of them.
        body: of a function.
    """

    names: Names
    is_class: bool = False
    body: Sequence[ast.AST] = ()

    @functools.cached_property
    def used(self) -> frozenset[str]:
        """All names that are read somewhere in the body."""
        nodes = (node for statement in self.body for node in ast.walk(statement))
        return frozenset(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))

    @functools.cached_property
    def constants(self) -> dict[str, ast.expr]:
        """The values of variables that are assigned once, by a statement of their own."""
        nodes = [node for statement in self.body for node in ast.walk(statement)]
        stores = Counter(node.id for node in nodes if _is_stored(node))
        values = {n.targets[0]: n.value for n in nodes if isinstance(n, ast.Assign)}
        return {t.id: value for t, value in values.items() if _is_stored(t) and stores[t.id] == 1}

    @classmethod
    def of_function(
        cls, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, package: str
    ) -> Scope:
        """Return the scope of a function: its arguments, and what ``assigned_names`` finds in its body.

        Args:
            package: that the function's module is in, from which relative imports are read.
        """
        arguments = (node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg))
        body = function.body if isinstance(function.body, list) else [function.body]
        return cls({name: [] for name in arguments} | assigned_names(body, package), body=body)


def assigned_names(body: Iterable[ast.AST], package: str) -> Names:
    """Return the names that statements or targets assign, without what is inside of functions and classes."""
    names: Names = {}
    outer: set[str] = set()
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if _is_stored(node):
                names.setdefault(node.id, [])
        elif isinstance(node, _IMPORTS):
            for name, targets in imports_of(node, package):
                names.setdefault(name, []).extend(targets)
        elif isinstance(node, _OUTER):
            outer.update(node.names)
        else:
            if own_name := _own_name(node):
                names.setdefault(own_name, [])
            pending += _within(node)
    return {name: targets for name, targets in names.items() if name not in outer}


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


def _own_name(node: ast.AST) -> str | None:
    """Return the name that a node other than a variable assigns by itself."""
    return node.name if isinstance(node, _NAMED) else getattr(node, "rest", None)


def _within(node: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of a node that assign names of the scope that it is in."""
    if isinstance(node, _OWN_SCOPES):
        return ()
    if isinstance(node, _COMPREHENSIONS):
        return (inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
    return _children(node)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what ast.iter_child_nodes gives, in half the time, without signs, which assign nothing."""
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.AST))
        elif isinstance(value, ast.AST) and not isinstance(value, _SIGNS):
            yield value


def imports_of(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, list[Import]]]:
    """Yield the names that an import of a module in ``package`` gives, each with what it then means."""
    if isinstance(node, ast.Import):
        for alias in node.names:  # `import a.b` gives the name a alone
            name = alias.asname or alias.name.partition(".")[0]
            yield name, [(alias.name if alias.asname else name, "")]
    else:
        base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
        for alias in node.names:
            yield alias.asname or alias.name, [(base, alias.name)]


def loaded_by(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """Return whatever may be a module that an import loads."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    targets = (target for _, [target] in imports_of(node, package))
    return [module for base, name in targets for module in (base, f"{base}.{name}")]


def is_main_guard(node: ast.AST) -> TypeGuard[ast.If]:
    """Return whether a statement is ``if __name__ == "__main__"``, whose body an import does not run."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def is_type_guard(node: ast.AST) -> TypeGuard[ast.If]:
    """Return whether a statement is ``if TYPE_CHECKING``, whose body is never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a body without its docstring."""
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    is_docstring = isinstance(first, ast.Constant) and isinstance(first.value, str)
    return body[1:] if is_docstring else body


@dataclass
class Module:
    """A module by its top-level statements.

    Attributes:
        package: the package that it lies in, or is.
        packages: the top names of what is read as source.
        words: how often each word stands in it, comments left out.
        units: name -> the statements that assign it.
        stars: modules of which every name is imported.
        statements: those that do something when the module is loaded.
        guarded: those that are run where it is the program.
        loads: whatever may be a module that it loads with itself.
    """

    path: Path
    package: str
    packages: frozenset[str]
    words: Counter[bytes]
    units: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: Names = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    statements: list[ast.stmt] = field(default_factory=list)
    guarded: list[ast.stmt] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, path: Path, text: bytes, tree: ast.Module, *, package: str, packages: frozenset[str]
    ) -> Module:
        """Return the module of a source and its syntax tree."""
        module = cls(path, package, packages, Counter(_WORD.findall(_COMMENT.sub(b"", text))))
        for statement in tree.body:
            module.add(statement)
        return module

    def add(self, statement: ast.stmt) -> None:
        """Add a statement; none that does nothing."""
        if is_type_guard(statement):
            for other in statement.orelse:
                self.add(other)
        elif is_main_guard(statement):
            self.guarded.append(statement)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.units.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            self._add_import(statement)
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            self._add_names(statement)

    def _add_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        self.loads += loaded_by(statement, self.package)
        for name, targets in imports_of(statement, self.package):
            tops = {base.partition(".")[0] for base, _ in targets}
            if name == "*":
                self.stars += [base for base, _ in targets]
            else:
                self.imports.setdefault(name, []).extend(targets)
            # of a library, and for what the import itself does
            if self.words[name.encode()] == 1 and not tops <= {"__future__", *self.packages}:
                self.statements.append(statement)

    def _add_names(self, statement: ast.stmt) -> None:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.loads += loaded_by(node, self.package)
        assigned = assigned_names([statement], self.package)
        for name, targets in assigned.items():
            self.imports.setdefault(name, []).extend(targets)
            self.units.setdefault(name, []).append(statement)
        is_assignment = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        if not is_assignment or not assigned or "_" in assigned:
            self.statements.append(statement)

    def decorated(self) -> list[str]:
        """Return definitions with a decorator that may do something with them when the module is loaded."""
        decorators = {name: getattr(units[0], "decorator_list", ()) for name, units in self.units.items()}
        return [name for name, each in decorators.items() if not all(map(self._is_plain, each))]

    def _is_plain(self, decorator: ast.expr) -> bool:
        name, _, rest = ast.unparse(getattr(decorator, "func", decorator)).partition(".")
        if name not in self.imports:
            return name not in self.units
        meanings = (".".join(filter(None, [*target, rest])) for target in self.imports[name])
        return all(meaning.startswith(PLAIN_DECORATORS) for meaning in meanings)
