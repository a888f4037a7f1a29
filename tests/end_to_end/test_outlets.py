"""Whatever is doubtful about a number is said wherever it may be quoted.

A verb or name without its line in ``VERBS_AS_OUTLETS`` or ``NAMES_AS_OUTLETS`` fails. ``-s`` prints them.
"""

import html
import re
from dataclasses import replace
from types import SimpleNamespace

import click
import pytest

import repro as suite
from papers.head_to_head import article
from repro import locations
from repro.api import select
from repro.api.comparisons import compare
from repro.cli import cli
from repro.cli.groups import LazyGroup
from repro.exchange.encoder_export import _scores
from repro.exchange.run_export import ExportedRun
from repro.machine import versions
from repro.running import engines
from repro.running.provenance import planned_code
from repro.running.runner import Outcome
from repro.running.workspace import Workspace
from repro.store.results import Record
from repro.verdicts import decision as doubts
from repro.verdicts.decision import KINDS
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro

TABLE = ("costa", "--table", "1", "--scale", "tiny")
OTHER_ROWS = {"beir/scifact/test qrels": "0" * 64}
OTHER_DATA = "the judgements of beir/scifact/test differ from the published ones"
ABSENT = "the files of absent were not there to be checked"
# kind -> what a record says, beside a sound one, that its number is doubted for
FAULTS = {
    "contradicted": {},
    "other result": {},
    "outdated": {"fingerprint": "0" * 64},
    "other code": {"code": "0" * 16},
    "unknown code": {"code": ""},
    "other libraries": {"environment": {"software": {"python": "2.7.1"}}},
    "other kernels": {"environment": {"kernels": {"pins": {"MKL_CBWR": "AVX2"}}}},
    "other data": {"rows": OTHER_ROWS},
    "absent data": {"collections": ["absent"]},
    "dirty tree": {"commits": ["1" * 40 + "-dirty"]},
    "unknown commit": {"commits": ["2" * 40]},
    "from the future": {"recorded": "2099-01-01T00:00:00+00:00"},
}


def sound_records(*names) -> list[Record]:
    return [
        Record(
            cell=m.cell.id,
            scale="tiny",
            measured=0.5,
            seed=m.seed,
            fingerprint=m.fingerprint,
            queries=150,
            missing=0,
            measure=m.measure,
            unit=m.cell.unit,
            recorded="2026-01-01T00:00:00+00:00",
            collections=list(m.collections),
            code=planned_code(m.parts),
        )
        for m in select(*names, scale="tiny").plan().measurements
    ]


@pytest.fixture(scope="module")
def faulty() -> list[Record]:
    kinds = [*FAULTS]
    records: list[Record] = []  # the first is contradicted: cpdae has its evaluation, too
    older: list[Record] = []
    # one column of a table has every fourth number, and shows all kinds only if they are shifted
    for names in (["costa/1"], ["head_to_head/1"], ["cotmae_v2/figure-3"]):
        sound = sound_records(*names)
        records += [
            replace(r, **FAULTS[kinds[(n + n // len(kinds)) % len(kinds)]]) for n, r in enumerate(sound)
        ]
        unlike = (
            r for n, r in enumerate(sound) if kinds[(n + n // len(kinds)) % len(kinds)] == "other result"
        )
        older += [replace(r, measured=0.25, recorded="2025-01-01T00:00:00+00:00") for r in unlike]
    twin = next(r for r in sound_records("cpdae/1") if r.identity == records[0].identity)
    return [*older, *records, replace(twin, measured=0.25, recorded="2026-02-01T00:00:00+00:00")]


@pytest.fixture
def world(repro, folders, monkeypatch, faulty):
    monkeypatch.setattr(doubts, "differing", lambda rows: [OTHER_DATA] * (rows == OTHER_ROWS))
    absent = ("absent data", lambda b: ABSENT if any(r.collections == ["absent"] for r in b.records) else "")
    rules = [rule._replace(said=absent[1]) if rule.kind == absent[0] else rule for rule in doubts.DOUBTS]
    monkeypatch.setattr(doubts, "DOUBTS", tuple(rules))
    monkeypatch.setattr(versions, "is_in_history", lambda folder, commit: commit != "2" * 40)
    monkeypatch.setattr(locations, "committed_results", lambda: None)
    workspace = Workspace.open()
    workspace.results.append(faulty)
    facts = {"of_each_kind": [r for r in faulty if r.measured == 0.5][: len(FAULTS)], "patch": monkeypatch}
    return SimpleNamespace(repro=repro, workspace=workspace, folder=folders, **facts)


def printed(*arguments):
    def read(world) -> str:
        said = world.repro(*arguments)
        return said.out + said.err

    return read


def written(*arguments, into="--out", files="*"):
    def read(world) -> str:
        place = world.folder / "written"
        said = world.repro(*arguments, into, place)
        texts = [p.read_text() for p in sorted([place, *place.rglob(files)]) if p.is_file()]
        return "\n".join([*texts, said.err])

    return read


def at_a_terminal(*arguments):
    def read(world) -> str:
        world.patch.setenv("COLUMNS", "200")
        return printed(*arguments)(world)

    return read


def of_a_run(world) -> str:
    for engine in list(engines.ENGINES):
        world.patch.setitem(engines.ENGINES, engine, lambda *_: Outcome())
    return printed("run", *TABLE)(world)


def of_figures(suffix):
    def read(world) -> str:
        world.repro("report", "figures", "cotmae_v2", "--table", "figure-3", "--scale", "tiny")
        return "\n".join(path.read_text() for path in (world.folder / "results/figures").rglob(f"*{suffix}"))

    return read


def of_the_article(world) -> str:
    return article.render(article.Article("tiny", (), world.workspace), world.folder)


def of_the_demo(world) -> str:
    world.patch.setattr("repro.cli.verbs.demo.measure", lambda selection, progress: [])
    world.patch.setattr("repro.cli.verbs.demo._status", lambda cells: 0)
    world.patch.setattr("repro.cli.verbs.demo._fetch_scifact", lambda yes: False)
    world.patch.setattr("repro.cli.verbs.report.page", click.Command("report", callback=lambda **_: None))
    return printed("demo", "-o", world.folder / "page.html")(world)


def of_cells(*options):
    def read(world) -> str:
        return "\n".join(printed("show", r.cell, *options)(world) for r in world.of_each_kind)

    return read


def of_exported_runs(world) -> str:
    texts = []
    for record in world.of_each_kind:
        place = world.folder / "run.trec"
        place.write_text("")
        run = ExportedRun(place, None, record)
        world.patch.setattr("repro.exchange.run_export.stored_run", lambda *_, run=run, **__: run)
        texts.append(printed("export", "run", record.cell, "--scale", "tiny")(world))
    return "\n".join(texts)


def of_exported_encoders(world) -> str:
    return _scores(compare("costa/1", scale="tiny", workspace=world.workspace).comparison.cells)


def of_a_frame(world) -> str:
    frame = compare("costa/1", scale="tiny", workspace=world.workspace).to_frame()
    assert not frame[frame.doubts.notna()].current.any()
    return "; ".join(frame.doubts.dropna())


def of_a_plot(world) -> str:
    import matplotlib.pyplot as plt

    axes = compare("costa/1", scale="tiny", workspace=world.workspace).plot()
    text = axes[0].figure.get_suptitle()
    plt.close("all")
    return text


def of_claims(world) -> str:
    return "; ".join(
        suite.claims("costa", scale="tiny", workspace=world.workspace).to_frame().doubts.dropna()
    )


THEIRS = "scores what a user or somebody else ran, which no record of the suite's is about"
NO_NUMBER = "shows no measured number"
COUNTS = "counts cells and shows no number"
HAPPENED = "shows records as they were written, one after another; none is called current"
VERBS_AS_OUTLETS = {
    "demo": [of_the_demo],
    "show": [of_cells(), of_cells("--format", "json")],
    **dict.fromkeys(("show cells", "show settings"), NO_NUMBER),
    "show readings": "shows differences of studies as `Answer` has them: studies/test_study_answers.py",
    "show coverage": COUNTS,
    "show others": THEIRS,
    "plan": COUNTS,
    "run": [of_a_run],
    "compare": [
        printed("compare", *TABLE),
        printed("compare", *TABLE, "--format", "json"),
        at_a_terminal("compare", *TABLE),
    ],
    **dict.fromkeys(("audit papers", "audit file"), NO_NUMBER),
    "audit claims": [
        printed("audit", "claims", "costa", "--scale", "tiny"),
        printed("audit", "claims", "costa", "--scale", "tiny", "--format", "json"),
    ],
    "tables": [
        written("tables", *TABLE, files="*.tex"),
        written("tables", "head_to_head", "--table", "1", "--scale", "tiny", files="*.md"),
        written("tables", "head_to_head", "--table", "1", "--scale", "tiny", files="*.tex"),
    ],
    "report": [
        written("report", "costa", "--scale", "tiny", into="--output"),
        printed("report", "costa", "--scale", "tiny", "--format", "markdown"),
    ],
    "report figures": [of_figures(".svg"), of_figures(".csv")],
    "report site": [written("report", "site", "costa", files="costa-table1.md")],
    "export encoder": [of_exported_encoders],
    "export run": [of_exported_runs],
    "import run": THEIRS,
    "store verify": "tells of faulty and contradicted records by themselves: tests/cli/test_verify.py",
    **dict.fromkeys(("store gc", "new paper", "new site", "new exercise"), NO_NUMBER),
    "export records": "writes lines of records unchanged: tests/plugins/contributed",
    "import records": "shows them as run by others with their doubts: tests/plugins/contributed",
    **dict.fromkeys(("data list", "data check", "data fetch", "data make"), NO_NUMBER),
    **dict.fromkeys(("doctor", "doctor smoke", "doctor calibrate", "doctor same-code"), NO_NUMBER),
}
SCRIPTS_AS_OUTLETS = {"papers.head_to_head.article": [of_the_article]}
NAMES_AS_OUTLETS = {
    "compare": [of_a_frame, of_a_plot],
    "measure": "gives what compare gives",
    "claims": [of_claims],
    "ComparedCells": "what compare gives",
    "records": HAPPENED,
    **dict.fromkeys(
        ("audit", "references", "settings", "paper", "papers", "table", "cell", "Cell"), NO_NUMBER
    ),
    **dict.fromkeys(("PublishedPaper", "PublishedTable", "Listing", "select", "Selection"), NO_NUMBER),
    **dict.fromkeys(("Workspace", "user_scale"), NO_NUMBER),
}
OUTLETS = {
    f"{name}{f' {number}' if number else ''}": read
    for name, ways in (
        VERBS_AS_OUTLETS | SCRIPTS_AS_OUTLETS | {f"repro.{n}": w for n, w in NAMES_AS_OUTLETS.items()}
    ).items()
    if not isinstance(ways, str)
    for number, read in enumerate(ways)
}
# what an outlet says otherwise of a kind, or why there is none in these records
OTHERWISE = {
    "audit claims": {"outdated": ""},  # records of another graph judge no claim
    "audit claims 1": {"outdated": ""},
    "repro.claims": {"outdated": ""},
    # no other paper has the cells of these
    **{
        outlet: {"contradicted": ""}
        for outlet in (
            "tables 1",
            "tables 2",
            "papers.head_to_head.article",
            "report figures",
            "report figures 1",
        )
    },
}


def every_outlet() -> set[str]:
    names = set()
    for verb in cli.list_commands(None):
        command = cli.get_command(None, verb)
        views = command.list_commands(None) if isinstance(command, LazyGroup) else ()
        names |= {f"{verb} {view}" for view in views} | ({verb} if not views or command.default else set())
    return names


def test_every_verb_and_every_name_says_how_it_shows_numbers_or_why_it_shows_none():
    assert VERBS_AS_OUTLETS.keys() == every_outlet()
    assert NAMES_AS_OUTLETS.keys() == set(dir(suite)) - {"errors", "__version__"}


@pytest.mark.parametrize("outlet", OUTLETS)
def test_every_kind_of_doubt_is_said_where_a_number_is_shown(world, outlet):
    said = " ".join(html.unescape(re.sub(r"\\[a-z]+\{|[\\{}]", "", OUTLETS[outlet](world))).split())
    told = {kind for kind in KINDS if kind in said or KINDS[kind] in said}
    told |= {kind for kind, words in OTHERWISE.get(outlet, {}).items() if words in said}
    print(f"| {outlet} | {' | '.join('yes' if kind in told else 'no' for kind in KINDS)} |")
    assert told == KINDS.keys(), said[:3000]
