"""Our objectives give the numbers that the released code gave, and a changed equation does not."""

from __future__ import annotations

import pytest

from oracles import table
from oracles.declaration import Declared
from oracles.sides import faults
from oracles.written import Oracle, oracle
from tests.oracles.mutated import mutated

DECLARED: dict[str, Declared] = {name: module.ORACLE for name, module in table.scripts().items()}
CASES = [(name, case) for name, declared in DECLARED.items() for case in declared.cases]
MUTATIONS = [(name, change) for name, declared in DECLARED.items() for change in declared.mutations]


def written(name: str) -> Oracle:
    return oracle(DECLARED[name].path)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_ours_gives_what_the_released_code_gave(name, case):
    stated = written(name).cases[case]
    ours = DECLARED[name].cases[case].ours(stated.inputs).written()
    assert faults(ours, stated.official, tolerance=stated.tolerance) == []


@pytest.mark.parametrize(("name", "change"), MUTATIONS, ids=lambda value: getattr(value, "new", value))
def test_a_changed_equation_is_noticed(name, change):
    stated = written(name).cases
    with mutated(change):
        for case, declared in DECLARED[name].cases.items():
            try:
                ours = declared.ours(stated[case].inputs).written()
            except Exception:
                return
            if faults(ours, stated[case].official, tolerance=stated[case].tolerance):
                return
    pytest.fail(f"no case of {name} tells {change.new!r} from {change.old!r} in {change.function}")


@pytest.mark.parametrize("name", DECLARED)
def test_the_numbers_are_of_what_their_script_declares(name):
    declared, stated = DECLARED[name], written(name)
    assert stated.script == name
    for fact in ("objective", "code", "nodes", "numbers", "stands_in", "shims", "departures"):
        assert getattr(stated, fact) == getattr(declared, fact), fact
    for case, compared in declared.cases.items():
        facts = stated.cases[case]
        assert (facts.about, facts.dtype, facts.tolerance) == (
            compared.about,
            compared.dtype,
            compared.tolerance,
        )
        assert facts.inputs == compared.inputs
    assert stated.cases.keys() == declared.cases.keys()


def test_the_table_is_of_the_numbers_that_are_there():
    text = table.README.read_text(encoding="utf-8")
    assert table.renewed(text) == text, "`python -m oracles.table` writes it anew"


def test_every_file_of_numbers_has_a_script_that_writes_it():
    from oracles.written import oracles

    assert {declared.file for declared in DECLARED.values()} == set(oracles())
