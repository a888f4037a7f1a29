"""After any order of changes, every number printed as current is true."""

import os
import re
import shutil
import tempfile
from itertools import product
from math import isclose
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.end_to_end.commands import Killed, repro
from tests.end_to_end.taken_out import GUARANTEES
from tests.end_to_end.toy_world import FILES, RUNS, ToyWorld, patched

NIGHTLY = os.environ.get("REPRO_SLOW_TESTS") == "1"
EXAMPLES, STEPS = (1000, 40) if NIGHTLY else (3, 25)
FOUND_WITHIN = 150

KILLED = {
    "gc": ["store", "gc", "toy", "--scale", "full", "--yes", "--keep-days", "0"],
    "verify": ["store", "verify", "--rebuild"],
}

readings = st.fixed_dictionaries(
    {},
    optional={"recall": st.sampled_from(["every", "any"]), "counts": st.sampled_from(["plain", "squared"])},
)
seeds = st.sampled_from([(), (), (1,), (1, 2)])
usual = st.sampled_from([({}, ()), ({"recall": "any"}, ())])
asked = usual | st.tuples(readings, seeds)
codes = st.sampled_from([1, 2, 3])
manifests = st.sampled_from(
    [("unit", "fraction"), ("unit", "percent")]
    + [("rr", measure) for measure in ("RR@2", "RR@3", "Success@2", "R@2")]
    + [("gain", measure) for measure in ("nDCG@3", "nDCG@1", "R@2")]
)
whens = st.integers(1, 100)
places = st.integers(0, 2**16)
edits = st.tuples(st.sampled_from(FILES), st.booleans())


def is_outdated(row: dict) -> bool:
    """Whether a number is shown as one of another graph; other doubts leave it to be the true one."""
    return any(doubt["kind"] == "outdated" for doubt in row["doubts"])


class AnyOrder(RuleBasedStateMachine):
    root, moments = Path(), None

    @initialize()
    def begin(self):
        self.world = ToyWorld(self.root, self.moments)
        self.asked = ({}, ())
        self.harmed = {}
        self.were_true = {}  # cell and seeds -> the fractions printed while the data were there

    @rule(asked=asked, cell=st.sampled_from(["", "", "1/letters/rr", "1/letters/mean", "2/letters/gain"]))
    def run(self, asked, cell):
        self.asked = asked
        selection = (f"toy/{cell}" if cell else "toy",)
        said = repro("run", *selection, "--format", "json", *options(asked))
        if not (self.harm_in() or self.world.is_absent()):
            assert said.status == 0, said.err
            for row in (row for row in said.json if "/theirs/" not in row["id"]):
                assert row["measured"] is not None and not is_outdated(row), row
                assert tuple(row["seeds"]) == (asked[1] or (None,)), row
        self.check(said, asked)

    @rule(asked=asked)
    def run_the_other_paper(self, asked):
        said = repro("run", "twin", "--format", "json", *options(asked))
        self.check(said, asked)

    @rule(verb=st.sampled_from(["run", "run", *KILLED]), asked=asked, moment=whens, cut=places)
    def be_killed(self, verb, asked, moment, cut):
        self.asked = asked
        command = KILLED.get(verb) or [verb, "toy", *options(asked)]
        records = self.world.results / "records/full/toy.jsonl"
        before = records.stat().st_size if records.exists() else 0

        def kill():
            raise Killed

        try:
            with self.world.moments.at(moment, kill):
                repro(*command)
        except Killed:
            if records.exists() and (written := records.stat().st_size - before) > 0:
                os.truncate(records, before + cut % (written + 1))
            for file in sorted(self.world.store.glob("*/*.partial/**/*")):
                if file.is_file() and cut % 2:
                    os.truncate(file, cut % (file.stat().st_size + 1))

    @rule(asked=asked, moment=whens, edit=edits, is_put_back=st.booleans())
    def run_while_data_change(self, asked, moment, edit, is_put_back):
        before, left = self.anew(asked), [edit]
        with self.world.moments.at(moment, lambda: left and self.world.edit(*left.pop())):
            said = repro("run", "toy", "--format", "json", *options(asked))
        self.check(said, asked, before)
        if is_put_back and not left:
            self.world.edit(*edit)
        self.asked = asked

    @rule(name=st.sampled_from(sorted(RUNS)))
    def import_a_run(self, name):
        said = repro(
            "import", "run", str(self.world.run_of_others(name)), "toy/2/theirs/gain", "--source", "others"
        )
        others = [file for file in self.harm_in() if "imported_run" not in file.parts]
        assert said.status == 0 or others or self.world.is_absent(), said.err

    @rule(asked=asked, edit=st.none() | edits, is_put_back=st.booleans())
    def run_stages_later(self, asked, edit, is_put_back):
        queue = self.world.queue(*asked)
        if edit:
            self.world.edit(*edit)
        for fingerprint in queue:
            repro("stage", fingerprint)
        if edit and is_put_back:
            self.world.edit(*edit)
        self.run(asked, "")

    @rule(edit=edits)
    def edit_data(self, edit):
        self.world.edit(*edit)

    @rule(file=st.sampled_from(FILES))
    def move_data(self, file):
        if not self.world.is_absent():
            self.world.move(file)
            self.absent = file

    @precondition(lambda self: self.world.is_absent())
    @rule()
    def move_data_back(self):
        self.world.move(self.absent)

    @rule(code=codes, is_said=st.booleans())
    def change_code(self, code, is_said):
        if is_said:
            self.world.raise_version()
        self.world.write_code(code)

    @rule(code=codes)
    def run_on_another_machine(self, code):
        """With the records, an empty store and perhaps other code, whose version does not tell."""
        self.lose("store")
        self.world.write_code(code)
        self.run(self.asked, "")

    @rule(change=manifests)
    def change_manifest(self, change):
        self.world.change_manifest(*change)

    @rule(folder=st.sampled_from(["store", "store", "results"]))
    def lose(self, folder):
        shutil.rmtree(self.world.root / folder, ignore_errors=True)

    @rule(which=places, where=places)
    def damage(self, which, where):
        artefacts = self.world.store.glob("[a-z]*/" + "?" * 64)
        files = [file for path in sorted(artefacts) for file in sorted(path.rglob("*")) if file.is_file()]
        if files:
            file = files[which % len(files)]
            content = bytearray(file.read_bytes())
            content[where % len(content)] ^= 1 << where % 7
            self.overwrite(file, bytes(content))

    @rule(which=places, digit=st.integers(1, 9), has_store=st.booleans())
    def change_a_recorded_digit(self, which, digit, has_store):
        if not has_store:
            self.lose("store")
        file = self.world.results / "records/full/toy.jsonl"
        if file.exists():
            content = bytearray(file.read_bytes())
            digits = [found.start(1) for found in re.finditer(rb'"measured": \d+\.(\d)', content)]
            if digits:
                content[digits[which % len(digits)]] = ord(str(digit))
                self.overwrite(file, bytes(content))

    def overwrite(self, file, content):
        before, sound = file.stat(), file.read_bytes()
        if file in self.harmed and sound == self.harmed[file][1]:
            sound = self.harmed[file][0]
        file.write_bytes(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.harmed[file] = sound, content

    def harm_in(self, *folders):
        """What is still harmed in these folders, by default in store and results."""
        return [
            file
            for file, (sound, harmed) in self.harmed.items()
            if file.relative_to(self.world.root).parts[0] in (folders or ("store", "results"))
            and sound != harmed
            and file.exists()
            and file.read_bytes() == harmed
        ]

    @rule(rebuild=st.booleans())
    def verify(self, rebuild):
        harmed = self.harm_in("store")
        said = repro("store", "verify", "-v", *(["--rebuild"] if rebuild else []))
        if not harmed:
            others = set(re.findall(r"^other code: (embed/\w+):", said.out, re.MULTILINE))
            assert others == self.world.made_by_other_code(), said.out
        if rebuild and harmed:
            harmed = self.harm_in("store")  # nothing but its file makes an imported run again
            assert all("imported_run" in file.parts for file in harmed), said.out
        assert said.status == (2 if harmed or self.harm_in("results") else 0), said.out

    @rule()
    def take_records_from_a_copy(self):
        for file, (sound, harmed) in self.harmed.items():
            if file.exists() and file.read_bytes() == harmed and "results" in file.parts:
                file.write_bytes(sound)

    @rule()
    def collect_garbage(self):
        said = repro("store", "gc", "toy", "--scale", "full", "--yes", "--keep-days", "0")
        assert said.status == 0 or self.harm_in(), said.err

    @invariant()
    def what_is_printed_as_current_is_true(self):
        for asked in {repr(a): a for a in (({}, ()), self.asked)}.values():
            said = repro("compare", "toy", "--format", "json", *options(asked))
            assert said.status == 0 or self.harm_in(), said.err
            self.check(said, asked)
            both = repro("compare", "toy", "twin", "--format", "json", *options(asked))
            self.check(both, asked)
            alone = {row["id"]: row for row in (said.json if said.out else ())}
            for row in both.json if both.out and alone else ():
                fields = ("measured", "current", "seeds")
                one, other = ([place[name] for name in fields] for place in (row, alone.get(row["id"], row)))
                assert one == other, f"{row['id']}: {other} alone, and {one} beside the other paper"

    def check(self, said, asked, others=None):
        """Every cell printed as current is true, of the files as they are or as they were for ``others``."""
        true = self.anew(asked)
        for row in said.json if said.out else ():
            self.check_others(row, others)
            if row["measured"] is None or is_outdated(row):
                continue
            column, seeds = row["id"].rpartition("/")[2], tuple(row["seeds"])
            shown = f"{row['id']}, seeds {seeds}, {asked}: {row['measured']} is printed, and"
            assert (column, seeds) in true, f"{shown} was not asked for"
            were_true = self.were_true.setdefault((row["id"], seeds), set())
            fraction = round(row["measured"] / self.world.factor(column), 12)  # the unit may change meanwhile
            if any(doubt["kind"] == "absent data" for doubt in row["doubts"]):
                assert self.world.is_absent(), shown
                values = were_true if fraction in were_true else self.anew_with_data(asked)[column, seeds]
                shown_values = product((fraction, row["measured"]), values)
                assert any(isclose(*pair, rel_tol=1e-9) for pair in shown_values), f"{shown} {values}"
                continue
            were_true.add(fraction)
            values = true[column, seeds] | (others or true)[column, seeds]
            assert any(isclose(row["measured"], value, rel_tol=1e-9) for value in values), f"{shown} {values}"
            if column != "mean":
                stored = self.world.stored(column, asked[0], row["fingerprints"])
                agree = stored is None or isclose(row["measured"], stored, rel_tol=1e-9)
                assert agree, f"{shown} the stored scores say {stored}"

    def check_others(self, row, others):
        assert not row["imported"] or ("/theirs/" in row["id"] and row["measured"] is None), row["id"]
        if self.world.is_absent():  # without judgements nothing tells that they are others
            return
        for run in row["imported"]:
            value = self.world.anew_of_others(run["file"])
            assert others or isclose(run["measured"], value, rel_tol=1e-9), f"{row['id']}: {run}, and {value}"

    def anew(self, asked):
        return self.world.anew(*asked)

    def anew_with_data(self, asked):
        """What the data that were moved away give, e.g. by another measure than was shown before."""
        self.world.move(self.absent)
        try:
            return self.anew(asked)
        finally:
            self.world.move(self.absent)


def options(asked):
    readings, seeds = asked
    words = [word for name, choice in sorted(readings.items()) for word in ("--reading", f"{name}={choice}")]
    return [*words, *(["--seeds", ",".join(map(str, seeds))] if seeds else [])]


@pytest.fixture
def machine():
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        with patched(Path(folder)) as moments:
            yield type("Machine", (AnyOrder,), {"root": Path(folder, "world"), "moments": moments})


def budget(examples, **others):
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        database=None,
        suppress_health_check=list(HealthCheck),
        **others,
    )


def test_what_is_printed_as_current_is_what_a_fresh_computation_gives(machine, monkeypatch):
    lines, command = set(), repro
    monkeypatch.setitem(globals(), "repro", lambda *words: lines.add(words[:2]) or command(*words))
    run_state_machine_as_test(machine, settings=budget(EXAMPLES, derandomize=not NIGHTLY))
    assert {line[0] for line in lines} == {"run", "stage", "import", "compare", "store"}
    assert lines > {("import", "run"), ("store", "gc"), ("store", "verify")}


@pytest.mark.nightly
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda guarantee: guarantee.__name__)
def test_a_guarantee_that_was_taken_out_is_missed(machine, guarantee, monkeypatch):
    guarantee(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine, settings=budget(FOUND_WITHIN, derandomize=True, phases=[Phase.generate])
        )


def test_a_cell_has_one_current_number_whatever_else_is_selected(machine):
    """Other code made the twin's scores, in an empty store; then there are only the records of both."""
    walk = machine()
    walk.begin()
    walk.run(({}, ()), "")
    walk.lose("store")
    walk.world.write_code(2)
    walk.run_the_other_paper(({}, ()))
    walk.lose("store")
    walk.what_is_printed_as_current_is_true()
