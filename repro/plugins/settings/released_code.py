"""How far the work behind a number is from the code that its authors released, by papers/*/oracles/."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from repro.graph import Node, once_a_node
from repro.manifest.papers import kept_with_papers
from repro.plugins.settings.oracles import Oracle, oracles, unreleased_objectives

TRAININGS = {"pretrain": "pre-training", "finetune": "fine-tuning"}


@dataclass(frozen=True)
class Certificate:
    """One part of the work, held against released code.

    Attributes:
        part: what was compared, or the training for which there is nothing to compare with.
        says: equal to which code and by how much, or why not.
        oracle: ``folder/name`` of the numbers; empty where there are none.
        code: repository and commit; empty where there is nothing to compare with.
        difference: the largest in losses and gradients; None where values or draws are compared.
    """

    part: str
    says: str
    oracle: str = ""
    code: str = ""
    difference: float | None = None

    @property
    def key(self) -> str:
        """The name of the certificate: that of the numbers, or of the part without any."""
        return self.oracle or self.part.replace(" ", "-")

    def as_json(self) -> dict:
        """All of it as plain values."""
        return asdict(self)


def certificates(nodes: Iterable[Node]) -> list[Certificate]:
    """Every comparison that speaks of one of the nodes, then every training that none speaks of.

    A training is equal to released code under the options that the code has; under others it says so.
    """
    nodes, oracle_names = list(nodes), _oracle_names()
    names = {name for node in nodes for name in oracle_names(node)}
    by_name = {name: oracle for name, oracle in oracles().items() if name in names}
    items = [_certificate(name, oracle) for name, oracle in by_name.items()]
    trainings = {(n.stage, n.params["objective"]["name"]): n for n in nodes if n.stage in TRAININGS}
    for (stage, objective), node in trainings.items():
        reason = _why_unequal(objective, node, by_name.values())
        items += [Certificate(f"{TRAININGS[stage]} by {objective}", reason)] if reason else []
    return items


@kept_with_papers
def _oracle_names() -> Callable[[Node], tuple[str, ...]]:
    """A function that names the oracles which speak of a node; many cells ask about the same one."""
    by_stage: dict[str, dict[str, Oracle]] = {}
    for name, oracle in oracles().items():
        for description in oracle.nodes:
            by_stage.setdefault(description.stage, {})[name] = oracle

    @once_a_node
    def names(node: Node) -> tuple[str, ...]:
        stage_oracles = by_stage.get(node.stage, {})
        return tuple(name for name, oracle in stage_oracles.items() if oracle.takes_in(node))

    return names


def by_code(certified: Iterable[Certificate]) -> dict[str, list[Certificate]]:
    """``equal to CODE to DIFFERENCE`` -> what is equal to it, the largest difference over all of that."""
    items_by_code: dict[str, list[Certificate]] = {}
    for item in certified:
        if item.code:
            items_by_code.setdefault(item.code, []).append(item)
    by_phrase = {}
    for code, items in items_by_code.items():
        differences = [item.difference for item in items if item.difference is not None]
        precision = f" to {max(differences):.1e}" if differences else ""
        by_phrase[f"equal to {code}{precision}"] = items
    return by_phrase


def in_short(certified: Sequence[Certificate]) -> list[str]:
    """A line for each released code, with all that is equal to it, then those without any."""
    lines = [
        f"{phrase}: {', '.join(item.part.partition(':')[0] for item in items)}"
        for phrase, items in by_code(certified).items()
    ]
    return lines + [f"{item.part}: {item.says}" for item in certified if not item.code]


def _certificate(name: str, oracle: Oracle) -> Certificate:
    numbers = [n for n in (oracle.difference.loss, oracle.difference.gradient) if n is not None]
    largest = max(numbers, default=None)
    return Certificate(oracle.objective, oracle.verdict, name, str(oracle.code), largest)


def _why_unequal(objective: str, node: Node, candidates: Iterable[Oracle]) -> str:
    """Why a training is not equal to released code; empty where it is."""
    if any(oracle.takes_in(node) and oracle.is_about(objective) for oracle in candidates):
        return ""
    if objective in unreleased_objectives():
        return f"nothing was released: {unreleased_objectives()[objective].because}"
    if any(oracle.is_about(objective) for oracle in oracles().values()):
        return "the released code has no such options"
    return "not held against released code"
