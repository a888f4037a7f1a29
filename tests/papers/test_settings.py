"""Every planned parameter is what its paper or the released scripts state, or a reading says why."""

import pytest

from repro.judging.settings.held import held
from repro.manifest.papers import papers

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
