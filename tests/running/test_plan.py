import subprocess
import sys

import pytest

from repro.graph import Node, walk
from repro.manifest.cells import select
from repro.running.cell_readings import CellReadings
from repro.running.plan import Plan, plan
from repro.running.requirements import NO_GPU, Machine
from repro.running.scale import scale


class Counted(dict):
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
    objects = {id(n): n for n in _below(made.ends)}
    assert len(objects) == len({n.fingerprint for n in objects.values()}) == len(walk(made.ends)) > 20


def _below(nodes):
    for node in nodes:
        yield node
        yield from _below(node.parents())


PLANS = """
import gc
from repro.graph import Node
from repro.manifest.cells import select
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale

cells = select(("costa",), tables=("1",), rows=(), cells=())
def alive():
    return sum(isinstance(one, Node) for one in gc.get_objects())

made = plan(cells, scale=scale("full"), machine=Machine())
one = alive()
for _ in range(8):
    made = plan(cells, scale=scale("full"), machine=Machine())
assert gc.isenabled()
print(alive() / one)
"""


@pytest.fixture
def cells():
    return select(("head_to_head",), tables=("1", "4"), rows=(), cells=())


def _told(cells, name, machine):
    made = plan(cells, scale=scale(name), machine=machine)
    return {(m.cell.id, m.fingerprint, *m.substitutes.items()) for m in made.measurements}


@pytest.mark.parametrize("order", [("tiny", "full"), ("full", "small", "tiny", "full")])
def test_scales_planned_on_one_machine_are_those_planned_alone(cells, order):
    machine, machines = Machine(), [Machine() for _ in order]
    for name, alone in zip(order, machines, strict=True):
        assert _told(cells, name, machine) == _told(cells, name, alone)
    for alone in machines:
        assert alone.stand_ins.items() <= machine.stand_ins.items()
        assert alone.obstacles.keys() <= machine.obstacles.keys()


def test_a_plan_at_full_stays_the_same_where_readings_of_its_cells_are_asked_for_in_between(cells):
    machine = Machine()
    before, known = _told(cells, "full", machine), CellReadings(machine)
    for cell in cells:
        known.nodes(cell)
    assert _told(cells, "full", machine) == before


def test_a_recipe_that_an_inner_one_found_a_file_missing_for_is_not_taken_for_one_with_the_original(cells):
    machine = Machine()
    plan(cells, scale=scale("tiny"), machine=machine)
    made = [a[1] for a in machine.calls.values() if isinstance(a, tuple)]
    substituted = [choices for choices in made if choices.substitutes]
    assert substituted, "papers_own tells the cell's choices of what it substitutes"


def test_plans_one_after_the_other_do_not_grow():
    said = subprocess.run([sys.executable, "-c", PLANS], capture_output=True, text=True, check=True)
    assert float(said.stdout) < 3, "of 9 plans; what is no longer used goes"


JUDGED = """
import gc
from repro.graph import Node
from repro.plugins.settings.checked import checked_parameters
from repro.manifest.papers import papers
from repro.running.cell_readings import CellReadings
from repro.manifest.cells import cell

for name in ("costa", "simlm"):
    assert checked_parameters(papers()[name])
assert CellReadings().nodes(cell("costa/1/hardneg.costa/dev.rr10"))
gc.collect()
print(sum(isinstance(one, Node) for one in gc.get_objects()))
"""


def test_no_node_stays_with_what_was_judged_of_it():
    said = subprocess.run([sys.executable, "-c", JUDGED], capture_output=True, text=True, check=True)
    assert int(said.stdout) == 0
