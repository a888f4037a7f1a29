"""The things that a plan needs and this machine does not have, all of them and each once."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from repro.running.plan import Plan
from repro.running.requirements import Obstacle


@dataclass(frozen=True)
class NodeObstacles:
    """The obstacles of some nodes.

    Attributes:
        obstacles: each once, in the order of the nodes.
    """

    obstacles: tuple[Obstacle, ...]

    @property
    def of_machine(self) -> list[Obstacle]:
        """The obstacles that another machine may not have: a GPU, Java."""
        return [o for o in self.obstacles if o.of_machine]

    @property
    def fetch(self) -> list[str]:
        """The ids that `repro data fetch` can get."""
        return list(dict.fromkeys(id for o in self.obstacles for id in o.fetch))

    @property
    def otherwise(self) -> list[str]:
        """A sentence on each thing that is neither the machine's nor given out by anyone."""
        remedies: dict[str, str] = {}
        for o in self.obstacles:
            remedy = o.otherwise or ("" if o.fetch or o.of_machine else o.remedy)
            if remedy:
                remedies.setdefault(o.short, remedy)
        return [f"{short}: {remedy}" for short, remedy in remedies.items()]

    @property
    def names(self) -> list[str]:
        """Everything in a word or two: the machine's first, then checkpoints, then data as it is fetched."""
        ranked = sorted(self.obstacles, key=lambda o: (not o.of_machine, not _is_checkpoint(o)))
        names = ((o.short,) if o.otherwise or _is_checkpoint(o) else o.fetch or (o.short,) for o in ranked)
        return list(dict.fromkeys(chain.from_iterable(names)))


def _is_checkpoint(obstacle: Obstacle) -> bool:
    return any(id.startswith("model:") for id in obstacle.fetch)


def distinct_obstacles(obstacles: Iterable[Obstacle]) -> NodeObstacles:
    """The obstacles, each once."""
    return NodeObstacles(tuple(dict.fromkeys(obstacles)))


def obstacles_of(plan: Plan) -> NodeObstacles:
    """The obstacles of the nodes themselves that a plan, once it has looked at a store, has to run."""
    obstacles = plan.machine.obstacles
    return distinct_obstacles(obstacles[n.fingerprint] for n in plan.needed() if n.fingerprint in obstacles)
