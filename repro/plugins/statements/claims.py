"""The schema of claims.yaml, and its expressions, e.g. ``above("1/ours", "1/bm25", "rr10")``.

Expressions are a subset of Python, parsed and never executed. A missing number leaves an expression without
a value, unless the other parts decide it: ``False and missing`` is False.
"""

import ast
import functools
import operator as op
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from pydantic import model_validator

from repro.errors import UsageError
from repro.graph import grouped
from repro.manifest import papers, reading_schema, yaml_file
from repro.manifest.cells import Cell

_NUMBERS = {"v", "gain", "percent", "best_count", "student", "spread", "relevant", "drawn"}
RELATIONS_OF_ROWS = frozenset({"above", "not_below", "best", "best_or_tied", "every"})
RELATIONS_OF_ROWS |= {"same_order", "significantly_above"}
_MORE = {"increasing", "rounds", "about", "rows", "columns"}
FUNCTIONS = RELATIONS_OF_ROWS | _NUMBERS | _MORE
_ARITHMETIC = {ast.Add: op.add, ast.Sub: op.sub, ast.Mult: op.mul, ast.Div: op.truediv}
_ORDERS = {ast.Lt: (op.lt, "<"), ast.LtE: (op.le, "<="), ast.Gt: (op.gt, ">"), ast.GtE: (op.ge, ">=")}
_COMPARISONS = {**_ORDERS, ast.Eq: (op.eq, "=="), ast.NotEq: (op.ne, "!=")}
_VALUES = (ast.Expression, ast.Constant, ast.List, ast.Call, ast.keyword, ast.Name, ast.Load)
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.USub, ast.Not, ast.And, ast.Or)
_KNOWN = (*_VALUES, *_OPERATIONS, *_ARITHMETIC, *_COMPARISONS)

HOLDS, FAILS, UNTESTED, UNDECIDED = "holds", "fails", "untested", "undecided"
NOT_JUDGEABLE = "not judgeable"
_WORST_FIRST = (FAILS, UNTESTED, UNDECIDED, HOLDS)


class MissingNumber(Exception):
    state = UNTESTED


class UndecidedOrder(MissingNumber):
    """The interval of a difference contains 0, so that both orders are possible."""

    state = UNDECIDED


def fault(text: str) -> str | None:
    """Return the reason why a text is not a valid expression, or None if it is one."""
    try:
        tree = _tree(text)
    except (SyntaxError, ValueError) as error:
        return f"{' '.join(text.split())!r} is not an expression: {getattr(error, 'msg', error)}"
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return next(filter(None, (_fault_of(node, called) for node in ast.walk(tree))), None)


def _fault_of(node: ast.AST, callee_ids: set[int]) -> str | None:
    match node:
        case ast.Constant(value=value) if isinstance(value, bool) or not isinstance(value, int | float | str):
            return f"{value!r} is neither a number nor a string"
        case ast.Name(id=name) if name not in FUNCTIONS or id(node) not in callee_ids:
            return f"there is no function {name!r} (known: {', '.join(sorted(FUNCTIONS))})"
    is_known = isinstance(node, _KNOWN) and getattr(node, "arg", "") is not None
    return None if is_known else f"{ast.unparse(node)!r} is outside the language of claims"


@functools.cache
def conjuncts(text: str) -> tuple[str, ...]:
    """Return the texts of the parts that ``and`` joins at the top of an expression."""
    body = _tree(text).body
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    return tuple(ast.unparse(part) for part in parts)


def parts_of(text: str) -> Iterator[ast.AST]:
    return ast.walk(_tree(text)) if text else iter(())


@functools.cache
def _tree(text: str) -> ast.Expression:
    return ast.parse(" ".join(text.split()), mode="eval")  # YAML keeps line breaks


@dataclass(frozen=True)
class Evaluation:
    """Computes expressions. ``number`` reads literals, and ``say`` gets sentences on failed comparisons."""

    functions: Mapping[str, Callable]
    number: Callable[[str], Decimal | float]
    say: Callable[[str], None]

    def of(self, text: str):
        """Return the value of a valid expression. Raises MissingNumber."""
        return self._value(_tree(text).body)

    def _value(self, node: ast.expr):
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.Constant(value=number):
                return self.number(repr(number))
            case ast.List(elts=items):
                return [self._value(item) for item in items]
            case ast.BinOp(left=left, op=sign, right=right):
                return _ARITHMETIC[type(sign)](self._value(left), self._value(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand)
            case ast.UnaryOp(operand=operand):
                return -self._value(operand)
            case ast.BoolOp(op=word, values=parts):
                return self._join(parts, decided_by=isinstance(word, ast.Or))
            case ast.Compare():
                return self._compare(node)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                options = {k.arg: self._value(k.value) for k in keywords if k.arg}
                return self.functions[name](*map(self._value, arguments), **options)
        raise AssertionError(ast.dump(node))  # fault() rejects all others

    def _join(self, parts: list[ast.expr], *, decided_by: bool) -> bool:
        missing, is_decided = None, False
        for part in parts:
            try:
                is_decided |= bool(self._value(part)) == decided_by
            except MissingNumber as reason:
                missing = missing or reason
        if missing and not is_decided:
            raise missing
        return decided_by if is_decided else not decided_by

    def _compare(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for relation, right in zip(node.ops, map(self._value, node.comparators), strict=True):
            holds, sign = _COMPARISONS[type(relation)]
            if not holds(left, right):
                self.say(f"{format_value(left)} {sign} {format_value(right)} does not hold")
                return False
            left = right
        return True


def format_value(value) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, Decimal | float) else str(value)


@dataclass
class Outcomes:
    """The states of compared pairs, each with one cell of the pair, and all cells ``used``."""

    pairs: list[tuple[Cell, str]] = field(default_factory=list)
    used: list[Cell] = field(default_factory=list)


def by_measure(states: list[tuple[Cell, str]]) -> tuple[tuple[str, str], ...]:
    """Return pairs of ``table/column`` and its worst state, or () for a single column."""
    columns = grouped((f"{cell.table.id}/{cell.column.id}", state) for cell, state in states)
    worst = tuple((name, min(found, key=_WORST_FIRST.index)) for name, found in columns.items())
    return worst if len(worst) > 1 else ()


def all_hold(expect: str, evaluation: Evaluation, seen: Outcomes) -> bool:
    """Return whether all parts joined by ``and`` hold. Their states replace ``seen.pairs``.

    Raises MissingNumber, or UsageError for a part that is neither true nor false.
    """
    missing, holds, pairs = None, True, []
    for part in conjuncts(expect):
        seen.pairs.clear()
        start = len(seen.used)
        try:
            value = evaluation.of(part)
            if not isinstance(value, bool):
                raise UsageError(f"{part!r} is {value!r}, neither true nor false")
            state = HOLDS if value else FAILS
            holds &= value
        except MissingNumber as reason:
            state, missing = reason.state, missing or reason
        pairs += _states(part, state, seen.pairs, seen.used[start:])
    seen.pairs[:] = pairs
    if holds and missing:
        raise missing
    return holds


def _states(part: str, state: str, pairs: list, cells: list[Cell]) -> list[tuple[Cell, str]]:
    body = _tree(part).body
    if pairs and isinstance(body, ast.Call) and ast.unparse(body.func) in RELATIONS_OF_ROWS:
        return list(pairs)
    columns = {(c.table.id, c.column.id): c for c in cells}
    return [(c, state) for c in columns.values()] if len(columns) == 1 else []


class Claim(yaml_file.Identified):
    """A sentence of the text, restated, with a condition on its cells.

    Attributes:
        expect: an expression, or "" if no cell can confirm the sentence.
        beyond: the reason why no cell can confirm the sentence.
        assumed: parts of ``expect`` that the text does not state, e.g. a margin for a vague word.
        note: the reason why the paper's own numbers contradict it.
        calls_significant: whether it calls a difference significant that has no mark.
    """

    where: str
    about: tuple[str, ...] = ()
    says: str
    expect: str = ""
    beyond: str = ""
    assumed: str = ""
    note: str = ""
    calls_significant: bool = False
    study: tuple[reading_schema.PointerText, ...] = ()

    @model_validator(mode="after")
    def _is_judged_or_says_why_not(self):
        if bool(self.expect) == bool(self.beyond):
            raise ValueError("needs `expect`, or `beyond` if no cell can confirm it")
        return self


class _Claims(yaml_file.StrictMapping):
    claims: tuple[Claim, ...]


@papers.once_per_paper
def claims_of(source: papers.Paper) -> dict[str, Claim]:
    return claims(source.folder / "claims.yaml")


def claims(path: Path) -> dict[str, Claim]:
    if not path.exists():
        return {}
    return {c.id: c for c in yaml_file.read(path, _Claims, faults=_faults).claims}


def _faults(content: _Claims) -> Iterator[tuple[tuple, str]]:
    yield from yaml_file.repetitions("claim", content.claims, ("claims",))
    for number, claim in enumerate(content.claims):
        if claim.expect and (reason := fault(claim.expect)):
            yield ("claims", number, "expect"), reason
