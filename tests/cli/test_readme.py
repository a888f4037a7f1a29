"""The commands of README.md and docs/ exist, and those marked run on every push."""

import ast
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

import repro
from repro.cli import cli
from repro.cli.completion import SCALES
from repro.running.scale import scales
from tests.ci_commands import BLOCK, GENERATED, commands, module, pages

ROOT = Path(__file__).resolve().parents[2]
SHELL = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`repro ((?:[a-z]|--)[^`]+)`")
SHOWN = re.compile(r"(?:^|&& )(?:[A-Z_]+=\S+ )*repro ([^&\n]+)", re.MULTILINE)


def test_the_readme_has_at_most_350_words():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 350


def test_every_mark_stands_above_a_block_of_commands():
    for page in pages():
        text = page.read_text(encoding="utf-8")
        marks = re.findall(r"^ *<!-- (?:ci|nightly) -->", text, re.MULTILINE)
        assert len(marks) == len(BLOCK.findall(text)), page


def test_a_command_that_stands_in_two_places_runs_once():
    listed = commands("ci", "nightly")
    assert len(listed) == len(set(listed)) > 30
    assert listed[0].startswith('python -m pip install -c constraints.txt -e ".[all]" && repro run costa')


EXCERPTS = {  # a block of the tutorial, by its first line: the command that prints its lines
    "id:            costa/1/hardneg.costa": "show costa/1/hardneg.costa/dev.rr10",
    "cotmae_v2 table 3:": "compare cotmae_v2 --table 3 --measured",
    "costa: 15 statements.": "audit claims costa --failing",
}


@pytest.mark.parametrize("begin", EXCERPTS)
def test_what_the_tutorial_shows_is_printed(repro, monkeypatch, begin):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("REPRO_RESULTS", str(ROOT / "results"))
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8").partition(f"```text\n{begin}")[2]
    lacking = re.compile(r"^full:.*\n(?: +.*\n)+", re.MULTILINE)
    excerpt = lacking.sub("", begin + text.partition("```")[0]).replace("…\n", "")
    counts = re.compile(r"\b\d+ (?=unspecified|statements|fails|untested)")
    shown = [line.rstrip() for line in counts.sub("n ", excerpt).splitlines()]
    printed = counts.sub("n ", repro(EXCERPTS[begin]).out).splitlines()
    assert len(shown) > 5 and set(shown) <= {line.rstrip() for line in printed}


def shown() -> list[str]:
    """Every ``repro …`` of a block of shell commands, or between backquotes."""
    sources = [*pages(), *(ROOT / "docs").glob("*.py"), ROOT / "results/README.md"]
    sources += [
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("papers/*/README.md"),
    ]
    texts = [page.read_text(encoding="utf-8") for page in sources]
    lines = [line for text in texts for block in SHELL.findall(text) for line in SHOWN.findall(block)]
    lines += [" ".join(command.split()) for text in texts for command in INLINE.findall(text)]
    return list(dict.fromkeys(lines))


@pytest.mark.parametrize("line", shown())
def test_every_command_that_is_shown_has_its_verb_and_options(line):
    words, command = shlex.split(line, comments=True), cli
    options = {option for parameter in cli.params for option in parameter.opts}
    while isinstance(command, click.Group):
        if command.name == "audit" and not {*words[:1]} & {*command.names}:
            words = ["papers", *words]
        _, command, words = command.resolve_command(click.Context(command), words or [""])
    options |= {option for parameter in command.params for option in parameter.opts}
    for word in words[: words.index(">>") if ">>" in words else None]:
        assert not word.startswith("-") or word.partition("=")[0] in options, line


def test_words_that_must_be_learned_are_at_most_twelve_and_scales_that_are_shown_three():
    words = (ROOT / "docs/explained/words.md").read_text(encoding="utf-8")
    assert 8 < len(re.findall(r"^\| \*", words, re.MULTILINE)) <= 12
    first, _, others = (
        (ROOT / "docs/explained/scales.md").read_text(encoding="utf-8").partition("These three")
    )
    listed = [re.findall(r"^\| `([\w-]+)`", text, re.MULTILINE) for text in (first, others)]
    assert listed[0] == list(SCALES) and sorted([*listed[0], *listed[1]]) == sorted(scales())


ALIKE = re.compile(
    r"\breported\b(?! measures| elsewhere|[ -]values?|\n +published)|\bmodified\b|\bothers'? reports?\b|\b(?:a|no|of|the) reading\b"
)


def _is_help(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("command" in ast.dump(d) for d in node.decorator_list)


def _sentences(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = (n for n in ast.walk(tree) if isinstance(n, documented) and not _is_help(n))
    internal = [first for n in nodes for first in n.body[:1]]
    skipped = {id(getattr(first, "value", None)) for first in internal}
    strings = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    yield from (n.value for n in strings if id(n) not in skipped)


def test_no_text_for_users_has_a_second_word_for_what_the_page_of_words_names():
    modules = sorted((ROOT / "repro").rglob("*.py"))
    texts = [(path, text) for path in modules for text in _sentences(path)]
    texts += [(path, path.read_text(encoding="utf-8")) for path in pages()]
    assert not [(path, match[0]) for path, text in texts if (match := ALIKE.search(text))]


def test_every_page_is_in_the_navigation():
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!ENV", lambda loader, node: None)
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/-]+\.md", str(yaml.load(text, Loader)["nav"]))
    listed = [page for page in listed if not page.startswith(GENERATED)]
    assert sorted(listed) == sorted(p.relative_to(ROOT / "docs").as_posix() for p in pages()[1:])


def test_every_link_of_a_page_leads_to_a_file_from_where_the_page_is_shown():
    snippet, link = re.compile(r'^--8<-- "([^":]+).*"$', re.MULTILINE), re.compile(r"\]\(([^)#\s]+)")
    made = {ROOT / "docs" / name for name in (*GENERATED, "report.html")}
    shown = [*pages(), *ROOT.glob("*.md"), *ROOT.glob("papers/*/README.md"), ROOT / "results/README.md"]
    for page in shown:
        text = snippet.sub(lambda found: (ROOT / found[1]).read_text("utf-8"), page.read_text("utf-8"))
        for target in link.findall(text):
            path = Path(os.path.normpath(page.parent / target))
            made_here = page.is_relative_to(ROOT / "docs") and made & {path, *path.parents}
            if ":" not in target and not made_here and not target.startswith("../../actions"):
                inside = path.is_relative_to(ROOT / "docs") or not page.is_relative_to(ROOT / "docs")
                assert path.exists() and inside, f"{page.relative_to(ROOT)}: {target}"


def test_what_is_generated_is_made_from_what_is_committed_and_not_committed_itself():
    made = module(ROOT / "docs/generated.py")
    page = made.verbs()
    assert all(f"### {verb}\n" in page for group in made.VERBS.values() for verb in group)
    assert made.study().count("data:image/svg+xml;base64,") > 10
    places = [f"docs/{name}" for name in GENERATED]
    tracked = subprocess.run(["git", "ls-files", "--", *places], cwd=ROOT, capture_output=True, text=True)
    assert not tracked.stdout
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert set(places) <= {line.strip("/") for line in ignored}


def test_the_page_of_the_python_api_has_everything_that_can_be_imported():
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    assert set(dir(repro)) - {"errors", "__version__"} <= set(
        re.findall(r"^::: repro\.(?:[\w.]+\.)?(\w+)$", page, re.MULTILINE)
    )
