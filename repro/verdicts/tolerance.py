"""Tolerance classes: how far a mean of few seeds may lie from the published value, and who says so."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

from repro.errors import check_known
from repro.graph import Node, walk
from repro.machine.bounded_reading import read_facts
from repro.stage_table import TRAININGS

UNITS = {"fraction": Decimal(1), "percent": Decimal(100)}
DEFAULT = "retrained"  # how this suite makes a row unless the manifest says otherwise


@dataclass(frozen=True)
class Tolerance:
    """How far from the published value is close enough.

    Attributes:
        name: the class: deterministic, re-encoded or retrained.
        half_width: in the paper's unit.
        source: where the number comes from, one sentence without full stop.
    """

    name: str
    half_width: Decimal
    source: str


def tolerance(name: str | None, measure: str | None, unit: str) -> Tolerance | None:
    """The tolerance of class ``name`` (None: retrained) for a measure like ``R(rel=2)@1000``, in ``unit``.

    None for what the classes say nothing about: other kinds of measure, units beside fraction and percent.
    Raises UsageError for an unknown class.
    """
    name = name or DEFAULT
    classes = _classes()
    check_known("tolerance class", name, valid=classes)
    family = (measure or "").partition("@")[0].partition("(")[0]
    entry = classes[name].get(family)
    if entry is None or unit not in UNITS:
        return None
    return Tolerance(name, Decimal(entry["half_width"]) * UNITS[unit], entry["source"])


def implied_class(nodes: Iterable[Node]) -> str:
    """The class that a graph implies: something is trained in it, or encoded, or neither."""
    stages = {node.stage for node in walk(nodes)}
    if not stages.isdisjoint(TRAININGS):
        return "retrained"
    return "re-encoded" if stages & {"backbone", "released"} else "deterministic"


@cache
def _classes() -> dict[str, dict[str, dict]]:
    """class -> measure family -> entry of tolerances.yaml."""
    classes: dict[str, dict[str, dict]] = {}
    for entry in read_facts(Path(__file__).with_name("tolerances.yaml")):
        classes.setdefault(entry["class"], {}).update(dict.fromkeys(entry["measures"], entry))
    return classes
