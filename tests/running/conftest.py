"""A plan that several tests look at; it takes seconds to make."""

import pytest

from repro.manifest.cells import select
from repro.running.plan import Plan, plan
from repro.running.requirements import Machine
from repro.running.scale import scale


@pytest.fixture(scope="session")
def everything_at_full() -> Plan:
    """All that can be measured, at full, on a machine without data."""
    return plan(select((), tables=(), rows=(), cells=()), scale=scale("full"), machine=Machine())
