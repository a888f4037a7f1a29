"""Every planned parameter is what its paper or the released scripts state, or a reading says why."""

import pytest

from repro.judging.settings.held import held
from repro.manifest.papers import ROOT, papers
from repro.manifest.settings import FILE, complete, read_settings

PUBLISHED = [
    name for name, source in papers().items() if any(t.kind != "study" for t in source.manifest.tables)
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_plan_follows_what_is_stated(name):
    found = held(papers()[name])
    wrong = [
        f"{item.row} {item.step or item.stage} {item.parameter}: {item.says}" for item in found if item.fails
    ]
    assert found and not wrong, "\n".join(
        [f"{len(wrong)} failures; `repro settings {name} --failing`", *wrong[:20]]
    )


def test_no_template_states_what_every_step_replaces():
    folders = {path.parent.name: path.parent for path in ROOT.glob(f"*/{FILE}")}
    steps = {name: {step.id: step for step in read_settings(f).steps} for name, f in folders.items()}
    own = [(name, step) for name, of_folder in steps.items() for step in of_folder.values()]
    taken = {id(s) for name, step in own if step.rows for s in complete(steps, name, step).settings.values()}
    stated = [(name, step.id, path, s) for name, step in own for path, s in step.settings.items() if s]
    live = {(name, path, repr(s)) for name, _, path, s in stated if id(s) in taken}  # also by an alias
    idle = [(name, step, path) for name, step, path, s in stated if (name, path, repr(s)) not in live]
    assert len(live) > 500 and idle == []
