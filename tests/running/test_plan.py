"""A plan does with each node once what it does with all: graphs share most of what they are made of."""

from repro.graph import Node, walk
from repro.manifest.cells import select
from repro.running.plan import Plan, plan
from repro.running.requirements import NO_GPU, Machine
from repro.running.scale import scale


class Counted(dict):
    """Obstacles, which refuse to be asked for too often."""

    asked = 0

    def get(self, key, default=None):
        self.asked += 1
        assert self.asked < 1000, "a node was asked about by every way that leads to it"
        return super().get(key, default)


def test_the_obstacles_of_a_node_are_looked_for_once_in_each_node_below_it():
    first = node = Node("corpus", {"dataset": "x"})
    for number in range(40):  # with 2 ** 40 ways from the last to the first
        node = Node("union", {"number": number}, {"training_sets": (node, node)})
    machine = Machine(obstacles=Counted({first.fingerprint: NO_GPU}))
    assert Plan(scale("tiny"), [], [], machine).obstacles(node) == [NO_GPU]


def test_equal_nodes_of_a_plan_are_one_object():
    cells = select(("costa",), tables=("1",), rows=("costa", "bert"), cells=())
    made = plan(cells, scale=scale("full"), machine=Machine())
    objects = {id(node): node for node in _below(made.ends)}
    assert len(objects) == len({node.fingerprint for node in objects.values()}) == len(walk(made.ends)) > 20


def _below(nodes):
    for node in nodes:
        yield node
        yield from _below(node.parents())
