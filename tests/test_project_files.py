import configparser
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from repro import __version__
from tests.ci_commands import module

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path: str):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_version_is_that_of_the_citation_and_of_the_last_dated_change():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, day = re.search(r"^## ([\d.]+) \((\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE).groups()
    citation = read("CITATION.cff")
    assert (version, day) == (__version__, str(citation["date-released"]))
    assert citation["version"] == __version__


def test_no_change_is_unreleased():
    assert "Unreleased" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_authors_are_an_organisation_and_no_invented_people():
    assert read("CITATION.cff")["authors"] == [{"name": "The repro contributors"}]


def test_what_changed_is_told_to_users_in_six_hundred_words():
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert all(len(s.split()) <= 600 for s in sections)


def test_the_distribution_has_a_script_of_its_own_name():
    assert PROJECT["scripts"][PROJECT["name"]] == PROJECT["scripts"]["repro"]


def test_the_addresses_of_a_distribution_are_those_of_one_variable():
    pytest.importorskip("hatchling", reason="the extra `dev` has hatchling")
    urls = module(ROOT / "hatch_build.py").addresses("https://host/owner/name")
    assert urls["Repository"] == "https://host/owner/name" and len(urls) == 5
    assert all(url.startswith("https://host/owner/name") for url in urls.values())
    asking = [ROOT / "mkdocs.yml", *(ROOT / ".github/workflows" / f"{w}.yml" for w in ("pages", "release"))]
    assert all("REPOSITORY_URL" in path.read_text(encoding="utf-8") for path in asking)


def test_no_file_names_the_address_of_a_package_index():
    """Who wants another than pip's own names it in the environment, or by an argument of the image."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    if not paths:
        pytest.skip("no checkout tells which files are its own")
    hosts = rb"(?i)pypi\.org|pythonhosted\.org|download\.pytorch\.org|anaconda\.org"
    address = re.compile(hosts + rb"|index[-_]url\W+\w+://|https?://[^\s\"'`]+/simple\b")
    assert not [p.relative_to(ROOT) for p in paths if p.is_file() and address.search(p.read_bytes())]


def test_the_page_for_contributors_lists_the_environments_of_tox():
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    named = tox["tox"]["env_list"].split(", ")
    assert set(tox.sections()) == {"tox", "testenv", *(f"testenv:{name}" for name in named)}
    page = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    assert f"`tox -e {'`, `'.join(named)}`." in page


@pytest.mark.parametrize("name", ["manifest-is-wrong", "reading-is-missing"])
def test_a_form_asks_for_the_place_and_the_evidence(name):
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) >= 4
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_only_the_job_that_publishes_may_speak_for_the_project():
    release = read(".github/workflows/release.yml")
    assert release["permissions"] == {"contents": "read"}
    asking = {name for name, job in release["jobs"].items() if "id-token" in job.get("permissions", {})}
    assert asking == {"publish"} and release["jobs"]["publish"]["environment"]["name"] == "pypi"


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.stem
)
def test_no_text_of_an_event_gets_into_a_shell_but_through_the_environment(path):
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    assert not any("${{ github.event" in step.get("run", "") for step in steps)


def test_a_commit_is_checked_by_the_style_checker_of_the_constraints():
    pinned = re.search(r"^ruff==\S+$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[0]
    hooks = [hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert {hook["id"] for hook in hooks} == {"ruff-check", "ruff-format"}
    assert all(hook["additional_dependencies"] == [pinned] for hook in hooks)


@pytest.mark.parametrize("strict", ["true", "false"])
def test_the_hook_and_the_action_audit_the_named_files(strict, tmp_path):
    [hook], action = read(".pre-commit-hooks.yaml"), read("action.yml")
    assert {"id", "name", "entry", "language"} <= hook.keys() and action["runs"]["using"] == "composite"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(
            "Model,MS MARCO R@100,MS MARCO R@1000\nx,65.8,85.7\ny,75.1,72.1\nz,88.7,98.0\n"
        )
    *_, step = action["runs"]["steps"]
    values = {"source": "a.csv b.csv", "strict": (strict == "true" and "1") or ""}
    named = {name: re.search(r"inputs\.(\w+)", text)[1] for name, text in step["env"].items()}
    environment = os.environ | {name: values[value] for name, value in named.items()}
    program = f'repro() {{ {shlex.quote(sys.executable)} -m repro "$@"; }}; cd {shlex.quote(str(tmp_path))}'
    environment["PYTHONPATH"] = str(ROOT)
    commands = [step["run"]] if strict == "false" else [step["run"], f"{hook['entry']} a.csv b.csv"]
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", f"{program}\n{command}"], capture_output=True, text=True, env=environment
        )
        said = done.stderr + done.stdout  # of --format github, and of the terminal
        assert (done.returncode, said[:13]) == (int(strict == "true"), "Read 2 tables"), said
