"""``repro new value``, and the workflow that calls it on an issue."""

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from repro.plugins.reports.reports import Reports
from tests.filled_form import CELL, filled

ROOT = Path(__file__).resolve().parents[2]
ISSUE = ("--issue", "owner/name#12", "--date", "2026-11-01")
# what a shell, a comment in Markdown or a workflow's log could take for its own
HOSTILE = (
    "$(touch taken) `touch taken` ; touch taken\n```\n@everybody\n::set-output name=x::y ${{ github.token }}"
)


def test_a_form_in_a_file_gives_an_entry_and_its_place_among_reports(repro, tmp_path):
    (tmp_path / "form.md").write_text(filled())
    said = repro("new", "value", tmp_path / "form.md", *ISSUE)
    assert said.status == 0, said.err
    [report] = Reports.model_validate(yaml.safe_load(said.out)).values
    assert (report.value, report.cells) == ("0.3287", (CELL,))
    assert f"# {CELL}: 32.87; published 33.0; " in said.out.splitlines()[-1]


def test_a_form_on_standard_input_gives_the_same(repro, tmp_path, monkeypatch):
    (tmp_path / "form.md").write_text(filled())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(filled().encode())))
    from_input = repro("new", "value", "-", *ISSUE)
    assert from_input.out == repro("new", "value", tmp_path / "form.md", *ISSUE).out


def test_what_is_wrong_with_a_form_is_one_sentence(repro, tmp_path):
    form = tmp_path / "form.md"
    form.write_text(filled(value="high", seeds="some"))
    said = repro("new", "value", form, *ISSUE)
    assert said.status == 2
    assert said.sentence == (
        f"{form}: Value is 'high' and no number such as 0.3412; Seeds is 'some' and no number such as 1"
    )


def test_a_value_that_is_rounded_as_the_form_has_it_is_not_above_what_it_is_the_rounding_of(repro, tmp_path):
    (tmp_path / "form.md").write_text(filled(cells="costa/1/hardneg.costa/dev.rr10", value="0.366"))
    told = repro("new", "value", tmp_path / "form.md", *ISSUE).out.splitlines()[-1]
    assert "others state 1 value of a released run 0.36564 (yours is equal to it)" in told


@pytest.mark.parametrize(
    ("content", "says"), [(b"\xff", "not UTF-8 text"), (None, "cannot be read: No such file or directory")]
)
def test_what_cannot_be_read_is_one_sentence(repro, tmp_path, content, says):
    if content:
        (tmp_path / "form.md").write_bytes(content)
    said = repro("new", "value", tmp_path / "form.md")
    assert (said.status, said.sentence) == (2, f"{tmp_path / 'form.md'}: {says}")


@pytest.fixture
def workflow(tmp_path):
    """``workflow(body)``: the exit status of the workflow's script on an issue, and its comment."""
    content = yaml.safe_load((ROOT / ".github/workflows/issues.yml").read_text(encoding="utf-8"))
    [step] = [step for step in content["jobs"]["value"]["steps"] if "env" in step]
    programs = tmp_path / "bin"
    programs.mkdir()
    gh = programs / "gh"
    gh.write_text('#!/bin/sh\necho "$@" >called\nfor last; do :; done\ncp "$last" commented\n')
    gh.chmod(gh.stat().st_mode | stat.S_IXUSR)
    (programs / "python").symlink_to(sys.executable)

    def call(body: str) -> tuple[int, str]:
        event = tmp_path / "event.json"
        event.write_text(json.dumps({"issue": {"body": body}}))
        stated = {"ISSUE": "owner/name#12", "OPENED": "2026-11-01T10:00:00Z", "GH_TOKEN": "none"}
        assert stated.keys() == step["env"].keys()
        stated["GITHUB_EVENT_PATH"] = str(event)
        paths = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]  # as GitHub calls it
        done = subprocess.run(script, cwd=tmp_path, env=os.environ | stated | paths, capture_output=True)
        wanted = "issue comment 12 --repo owner/name --edit-last --create-if-none --body-file comment"
        assert (tmp_path / "called").read_text() == f"{wanted}\n", done.stderr
        return done.returncode, (tmp_path / "commented").read_text()

    return call


def test_the_workflow_comments_the_entry_of_a_good_form(workflow):
    status, comment = workflow(filled())
    assert status == 0
    first, _, code = comment.partition("\n\n")
    assert first == "The form gives this entry of `others.yaml`:"
    assert all(line.startswith("    ") for line in code.splitlines())
    assert Reports.model_validate(yaml.safe_load(code)).values[0].value == "0.3287"


def test_the_workflow_fails_on_a_bad_form_and_runs_nothing_that_stands_in_it(workflow, tmp_path):
    status, comment = workflow(filled(value=HOSTILE, evidence=HOSTILE, note=HOSTILE))
    assert status == 2
    first, _, code = comment.partition("\n\n")
    assert first == "The form gives no entry yet. Edit it, and this comment follows:"
    assert "Value is '$(touch taken) `touch taken`" in code and code.startswith("    repro: the form: ")
    assert all(line.startswith("    ") for line in code.splitlines()), "a mention would call somebody"
    assert not (tmp_path / "taken").exists()


def test_the_workflow_comments_on_a_body_that_is_longer_than_the_environment_can_hold(workflow):
    body = filled(evidence="\U0001f600" * 65_536)
    assert len(body.encode()) > 2 * 2**17  # of one string of the environment, on Linux
    status, comment = workflow(body)
    assert status == 0 and comment.startswith("The form gives this entry")


def test_the_workflow_installs_all_that_the_verb_needs_and_no_more():
    content = yaml.safe_load((ROOT / ".github/workflows/issues.yml").read_text(encoding="utf-8"))
    [install] = [
        step["run"] for step in content["jobs"]["value"]["steps"] if "pip install" in step.get("run", "")
    ]
    code = (
        "import sys; sys.argv[1:] = ['new', 'value', '-', *sys.argv[1:]]\n"
        "from repro.cli import main\n"
        "try: main()\n"
        "except SystemExit as left: assert not left.code\n"
        "print('#', *{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *ISSUE], input=filled(), capture_output=True, text=True, cwd=ROOT
    )
    loaded = set(done.stdout.splitlines()[-1].split()) - {"#", "repro", "__main__"}
    of_pydantic = {"pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
    named = {"yaml" if name == "pyyaml" else name for name in install.split("constraints.txt ")[1].split()}
    assert {name for name in loaded - of_pydantic if not name.startswith("_")} - {"cython_runtime"} == named
