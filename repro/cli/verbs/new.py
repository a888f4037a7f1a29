"""``repro new``, e.g. ``repro new paper NAME``. Plugin ``manuscripts`` adds ``--from`` to ``paper``."""

import importlib.util
import keyword
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from string import Template
from types import MappingProxyType

import click

from repro.cli.groups import views
from repro.cli.printing import say
from repro.errors import UsageError
from repro.manifest.papers import ROOT, papers
from repro.store.disk import translated_errors

command = views(
    "new",
    {
        "paper": "a folder of placeholders that runs",
        "site": "a Snakemake profile with the resources of cluster jobs",
    },
    help="""Write the files of a new paper or cluster profile.""",
    epilog="""\b
Examples:
  repro new paper NAME
  repro new site DIR""",
)


@command.command("paper", epilog="\b\nExamples:\n  repro new paper NAME\n  repro new paper NAME --dir DIR")
@click.argument("name")
@click.option(
    "--dir",
    "directory",
    metavar="DIR",
    help="Make a separate distribution in this folder instead of adding to the checkout.",
)
def paper(name, directory):
    """Start another paper: a folder of placeholders that runs at scale tiny, with passing tests.

    NAME is a Python package name of lower-case letters, digits and underscores.
    """
    place = folder_of(directory)
    files = scaffold(name, place)
    for path in files:
        print(path)
    test = next(path for path in files if path.name.startswith("test_"))
    if place is not None:
        say(f"next: python -m pip install -e {place}")
    else:
        say("next: repro report --readme docs/papers/index.md adds the paper to the table")
    say(f"then, with the extra `dev`: python -m pytest {test.parent}")
    say(f"then: repro run {name} --table 1 --scale tiny")
    say(f"then: {files[0].parent / 'README.md'} explains how to replace the placeholders")


def folder_of(directory: str | None) -> Path | None:
    """Return the absolute path of --dir, or None without it. Raises UsageError for ""."""
    if directory == "":
        raise UsageError("--dir is empty. Name a folder or remove the option.")
    return Path(directory).expanduser().resolve() if directory is not None else None


TEMPLATES = Path(__file__).parents[1] / "templates" / "paper"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def scaffold(
    name: str, directory: Path | None, contents: Mapping[str, str | None] = MappingProxyType({})
) -> list[Path]:
    """Write a paper's folder and its test, overwriting nothing, and return the files.

    Raises UsageError for an invalid or used name, or an existing file.

    Args:
        directory: a separate distribution, or None for ``papers/`` and ``tests/papers/``.
        contents: file -> text that replaces the template's, or None to omit the file.
    """
    check_name(name)
    package = f"papers.{name}" if directory is None else name
    folder, tests = _places(name, directory)
    places = {"test_halves_contrast.py": tests, "pretraining_cases.py": tests, "pyproject.toml": directory}
    omitted = "pyproject.toml" if directory is None else "pretraining_cases.py"
    values = {"name": name, "package": package, "row": name, "distribution": name.replace("_", "-")}
    texts = {}
    for template in sorted(TEMPLATES.glob("*.txt")):
        file = template.name.removesuffix(".txt")
        text = contents.get(file, Template(template.read_text()).substitute(values))
        if file != omitted and text is not None:
            texts[(places.get(file) or folder) / file] = text
    for path in (folder, *texts):
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} exists already. Choose another name or --dir.")
    _write(texts, folder)
    papers.cache_clear()
    return list(texts)


def check_name(name: str) -> None:
    """Raise UsageError for a used or invalid package name, e.g. "class"."""
    if keyword.iskeyword(name):
        reason = "is a Python keyword"
    elif not _NAME.fullmatch(name):
        reason = "is not a package name of lower-case letters, digits and underscores, e.g. my_paper"
    elif name in papers() or (ROOT / name).exists():
        reason = f"exists already ({ROOT / name})"
    elif importlib.util.find_spec(name) is not None:
        reason = "is an installed Python package"
    else:
        return
    raise UsageError(f"{name!r} {reason}. Choose another name.")


def _places(name: str, directory: Path | None) -> tuple[Path, Path]:
    if directory is not None:
        return directory / name, directory / "tests"
    if not (ROOT.parent / "pyproject.toml").is_file():
        raise UsageError("an installed repro needs --dir DIR, a new folder for the paper")
    return ROOT / name, ROOT.parent / "tests" / "papers" / name


def _write(contents: dict[Path, str], folder: Path) -> None:
    try:
        for path, text in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        reason = f"{error.strerror}. Name another folder with --dir."
        raise UsageError(f"{error.filename} cannot be written: {reason}") from None


TEMPLATE = Path(__file__).parents[1] / "templates" / "site" / "config.yaml"


@command.command("site", epilog="\b\nExamples:\n  repro new site ~/slurm")
@click.argument("directory", metavar="DIR")
def site(directory):
    """Write DIR/config.yaml, a Snakemake profile for Slurm: partitions, parallel jobs, retries.

    Edit it for your cluster.
    """
    folder = Path(directory).expanduser()
    write_files(folder, {TEMPLATE.name: TEMPLATE.read_text(encoding="utf-8")})
    say(f"then: repro run PAPER --engine snakemake --profile {folder}")


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write new files into a folder and print their paths. Raises UsageError if one exists."""
    for path in (folder / name for name in texts):
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} exists already. Name another folder.")
    with translated_errors(folder, "folder", ""):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
            print(folder / name)
