"""Nodes in words: what is done, on which collection, and for which rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from repro.graph import Node, walk
from repro.running.plan import Plan

# inputs by which a node is about the collection that it is about, the first that it has
ABOUT = ("qrels", "queries", "texts", "corpus", "tokens", "tokenizer", "training_set", "training_sets")
ABOUT += ("run", "runs", "scores", "passages", "index")


def describe(node: Node) -> str:
    """A node in a few words: the stage and what tells it from others of its kind."""
    return f"{work_of(node)} ({node.fingerprint[:12]})"


def work_of(node: Node) -> str:
    """A node in words, with its collection: "finetune contrastive on tiny/passage/train, 250 steps"."""
    objective = node.params.get("objective", {}).get("name")
    kind = node.params.get("kind")
    words = " ".join(word for word in (node.stage, objective, kind) if word)
    subject = " and ".join(collections(node)[:1]) or node.params.get("name", "")
    return ", ".join(
        filter(None, [f"{words} {'of' if kind else 'on'} {subject}" if subject else words, *_sizes(node)])
    )


def _sizes(node: Node) -> Iterable[str]:
    depth, steps = node.params.get("depth"), node.params.get("max_steps")
    if depth is not None:
        yield f"depth {depth}"
    if steps is not None:
        yield f"{'at most ' if node.params.get('epochs') is not None else ''}{steps} steps"


def collections(node: Node) -> list[str]:
    """The ids of the collections that a node is about, each once; models have none."""
    if "dataset" in node.params:
        return [node.params["dataset"]]
    value = next((node.inputs[name] for name in ABOUT if name in node.inputs), ())
    parents = value if isinstance(value, tuple) else (value,)
    return list(dict.fromkeys(id for parent in parents for id in collections(parent)))


@dataclass(frozen=True)
class Place:
    """A row of a table, or an exhibit, as progress names it.

    Attributes:
        table: ``paper/table``.
        row: the whole id, or the exhibit's.
        system: the row without its group.
    """

    table: str
    row: str
    system: str


def places(plan: Plan) -> dict[str, list[Place]]:
    """Fingerprint -> the rows of tables, and the exhibits, that a node is run for."""
    ends: dict[Place, list[Node]] = {}
    for m in plan.measurements:
        row = m.cell.row
        ends.setdefault(Place(f"{m.cell.paper.name}/{m.cell.table.id}", row.id, row.system), []).extend(
            m.parts
        )
    for item, node in plan.exhibits.items():
        name = item.exhibit.id
        ends.setdefault(Place(f"{item.paper.name}/{item.owner}", name, name), []).append(node)
    by_fingerprint: dict[str, list[Place]] = {}
    for place, nodes in ends.items():
        for node in walk(nodes):
            by_fingerprint.setdefault(node.fingerprint, []).append(place)
    return by_fingerprint


def describe_rows(places: Sequence[Place]) -> str:
    """Rows in a few words, with their table; a system for several groups; empty without any."""
    if len(places) < 2:
        return "".join(f"{place.table} {place.row}" for place in places)
    first, systems = places[0], list(dict.fromkeys(place.system for place in places))
    if any(place.table != first.table for place in places):
        return f"{first.table} {first.system} and {len(places) - 1} more rows"
    if len(systems) < 3:
        return f"{first.table} {', '.join(systems)}"
    return f"{first.table} {systems[0]} and {len(systems) - 1} more"
