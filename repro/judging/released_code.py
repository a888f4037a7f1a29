"""How far the work behind a number is from the code that its authors released, by papers/*/oracles/."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from repro.graph import Node, once_a_node
from repro.manifest.oracles import Oracle, oracles, unreleased_objectives
from repro.manifest.papers import kept_with_papers

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
        """Its name: that of the numbers, or of the part without any."""
        return self.oracle or self.part.replace(" ", "-")

    def as_json(self) -> dict:
        """All of it as plain values."""
        return asdict(self)


def certificates(nodes: Iterable[Node]) -> list[Certificate]:
    """Every comparison that speaks of one of the nodes, then every training that none speaks of.

    A training is equal to released code under the options that the code has; under others it says so.
    """
    nodes, speaking_of = list(nodes), _oracle_names()
    speaking = {name for node in nodes for name in speaking_of(node)}
    known = {name: oracle for name, oracle in oracles().items() if name in speaking}
    made = [_certificate(name, oracle) for name, oracle in known.items()]
    trainings = {(n.stage, n.params["objective"]["name"]): n for n in nodes if n.stage in TRAININGS}
    for (stage, objective), node in trainings.items():
        says = _without_code(objective, node, known.values())
        made += [Certificate(f"{TRAININGS[stage]} by {objective}", says)] if says else []
    return made


@kept_with_papers
def _oracle_names() -> Callable[[Node], tuple[str, ...]]:
    """A function that names the oracles which speak of a node; many cells ask about the same one."""
    by_stage: dict[str, dict[str, Oracle]] = {}
    for name, oracle in oracles().items():
        for concerned in oracle.nodes:
            by_stage.setdefault(concerned.stage, {})[name] = oracle

    @once_a_node
    def of(node: Node) -> tuple[str, ...]:
        of_stage = by_stage.get(node.stage, {})
        return tuple(name for name, oracle in of_stage.items() if oracle.takes_in(node))

    return of


def by_code(certified: Iterable[Certificate]) -> dict[str, list[Certificate]]:
    """``equal to CODE to DIFFERENCE`` -> what is equal to it, the largest difference over all of that."""
    of_code: dict[str, list[Certificate]] = {}
    for item in certified:
        if item.code:
            of_code.setdefault(item.code, []).append(item)
    said = {}
    for code, items in of_code.items():
        differences = [item.difference for item in items if item.difference is not None]
        to = f" to {max(differences):.1e}" if differences else ""
        said[f"equal to {code}{to}"] = items
    return said


def in_short(certified: Sequence[Certificate]) -> list[str]:
    """A line for each released code, with all that is equal to it, then those without any."""
    lines = [
        f"{equal}: {', '.join(item.part.partition(':')[0] for item in items)}"
        for equal, items in by_code(certified).items()
    ]
    return lines + [f"{item.part}: {item.says}" for item in certified if not item.code]


def _certificate(name: str, oracle: Oracle) -> Certificate:
    numbers = [n for n in (oracle.difference.loss, oracle.difference.gradient) if n is not None]
    largest = max(numbers, default=None)
    return Certificate(oracle.objective, oracle.verdict, name, str(oracle.code), largest)


def _without_code(objective: str, node: Node, known: Iterable[Oracle]) -> str:
    """Why a training is not equal to released code; empty where it is."""
    if any(oracle.takes_in(node) and oracle.is_about(objective) for oracle in known):
        return ""
    if objective in unreleased_objectives():
        return f"nothing was released: {unreleased_objectives()[objective].because}"
    if any(oracle.is_about(objective) for oracle in oracles().values()):
        return "the released code has no such options"
    return "not held against released code"
