"""Plugins: each can be absent, the core works without any, and other packages may have some."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest

from repro import hooks
from repro.errors import UsageError
from repro.hooks import PLUGINS, ask, chosen
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro

CELL = "simlm/2/dense.ance/dev.rr10"
# plugin -> arguments that show what it adds, and what is then among the words
ADDS = {
    "statements": (["audit", "--help"], "sentences, marks"),
    "manuscripts": (["audit", "--help"], "LaTeX"),
    "settings": (["show", "--help"], "settings"),
    "reports": (["show", CELL], "reported elsewhere"),
    "studies": (["show", "readings", "costa"], "a controlled study"),
    "yours": (["compare", "--help"], "--qrels"),
    "contributed": (["import", "--help"], "records"),
    "exercises": (["new", "--help"], "exercise"),
    "same_code": (["doctor", "--help"], "same-code"),
}


@pytest.fixture
def plugins(monkeypatch):
    """``plugins("reports yours")``: only these answer."""

    def only(names):
        monkeypatch.setenv(hooks.CHOICE, names)
        ask.cache_clear()

    yield only
    monkeypatch.undo()
    ask.cache_clear()


@pytest.mark.parametrize("name", PLUGINS)
def test_without_a_plugin_what_it_adds_is_gone_and_all_else_is_there(repro, plugins, name):
    for one, (words, added) in ADDS.items():
        plugins(" ".join(other for other in PLUGINS if other != name))
        said = repro(*words)
        assert said.status == 0 and (added in said.out) is (one != name), one


@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["show", CELL],
        ["show", "costa", "--table", "1"],
        ["show", "coverage", "costa"],
        ["show", "readings", "costa"],
        ["plan", "costa", "--table", "1", "--scale", "tiny"],
        ["compare", "costa", "--table", "1", "--format", "json"],
        ["tables", "costa", "--table", "1", "--format", "csv"],
        ["report", "costa", "--format", "markdown"],
    ],
    ids=" ".join,
)
def test_the_core_does_without_any(repro, plugins, words):
    plugins("none")
    said = repro(*words)
    assert said.status in (0, 4) and said.out, said.err
    if words[-1] == "json":
        assert {len(c["others"]) for c in said.json} == {0}
    elif words[-1] == "csv":
        assert {(c["others"], c["others_count"]) for c in csv.DictReader(io.StringIO(said.out))} == {
            ("", "0")
        }
    else:
        assert "others" not in said.out.replace("run by others", "") or words[0] == "report"


def test_only_a_plugin_that_there_is_can_be_chosen(monkeypatch):
    monkeypatch.setenv(hooks.CHOICE, "report")
    with pytest.raises(UsageError, match="Did you mean reports"):
        chosen()


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (None, "ModuleNotFoundError: No module named 'mine'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("from repro.hooks import answer\n@answer\ndef commands(of):\n    pass\n", "PluginValidationError"),
        ("from repro.hooks import answer\n@answer\ndef not_asked():\n    pass\n", "unknown hook 'not_asked'"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_sentence(tmp_path, module, why):
    said = _with_plugin(tmp_path, module, ["show"])
    (sentence,) = said.stderr.splitlines()
    assert said.returncode == 2 and why in sentence
    assert sentence.startswith("repro: the installed plugin 'mine' cannot be used")


@pytest.mark.parametrize("choice", ["none", "reports"])
def test_a_plugin_with_the_name_of_one_of_the_suites_own_is_one_sentence(tmp_path, choice):
    said = _with_plugin(tmp_path, "", ["show"], choice=choice, name="reports")
    (sentence,) = said.stderr.splitlines()
    assert said.returncode == 2 and "the installed plugin 'reports' cannot be used" in sentence
    assert "another plugin has the same name" in sentence


def test_a_wrong_choice_is_one_sentence(repro, plugins):
    plugins("report")
    for words in (["show"], ["--help"]):
        said = repro(*words)
        assert said.status == 2 and "'report' is not a known plugin. Did you mean reports?" in said.err


END = "---- end of a command ----"


def _with_plugin(folder, module, words, code="", choice="none", name="mine"):
    """Run the command line where a plugin of another package is installed; None is one without its module."""
    if module is not None:
        (folder / "mine.py").write_text(module)
    installed = folder / "mine-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[repro.plugins]\n{name} = mine\n")
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    calls = f"sys.argv[1:] = {words!r}\nmain()"
    if isinstance(words[0], list):
        calls = f"for sys.argv[1:] in {words!r}:\n    try: main()\n    except SystemExit: print('{END}')"
    code = f"import sys; from repro.cli import main\n{code}\n{calls}"
    environment = {**os.environ, "PYTHONPATH": paths, hooks.CHOICE: choice, "REPRO_STORE": str(folder / "s")}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


OF_ANOTHER_PACKAGE = f"""\
from repro.hooks import CellNote, CellPart, answer

class Part(CellPart):
    facts = {{"mine": 1}}

@answer
def part_of_cell(cell):
    return Part([CellNote("Mine", "33.3", "my notebook")]) if cell.id == "{CELL}" else None

@answer
def public_names():
    return {{"seven": "mine:seven"}}

def seven():
    return 7
"""


def test_a_plugin_of_another_package_answers_like_the_suites_own(tmp_path):
    words = ["show", CELL, "--format", "json"]
    said = _with_plugin(tmp_path, OF_ANOTHER_PACKAGE, words, "import repro; print(repro.seven())")
    number, _, facts = said.stdout.partition("\n")
    assert number == "7" and json.loads(facts)["mine"] == 1, said.stderr
    assert json.loads(facts)["others"] == [{"value": 33.3, "name": "Mine", "place": "my notebook"}]


def test_a_note_of_a_plugin_is_in_every_outlet(tmp_path):
    page = tmp_path / "page.html"
    outlets = [
        (["show", CELL], "33.3 Mine (independent): method not stated; match exact; my notebook"),
        (["compare", CELL], "33.3 unknown"),
        (["compare", CELL, "--format", "csv"], ",33.3,1,33.3,33.3,unknown,exact,Mine,"),
        (["tables", "simlm", "--table", "2", "--others", "--format", "latex"], r"33.3\textsuperscript{u}"),
        (["show", "coverage", "simlm", "--format", "json"], '"stated by others (exact)": 1'),
    ]
    lines = [*(words for words, _ in outlets), ["report", "simlm", "-o", str(page)]]
    said = _with_plugin(tmp_path, OF_ANOTHER_PACKAGE, lines)
    for (words, shown), out in zip(outlets, said.stdout.split(END), strict=False):
        assert shown.replace(" ", "") in "".join(out.split()).replace("&", ""), (words, said.stderr)
    text = page.read_text(encoding="utf-8")
    assert "“33.3”" in text and "Mine, independent" in text, said.stderr
