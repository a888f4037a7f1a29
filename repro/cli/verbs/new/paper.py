"""``repro new paper``"""

from pathlib import Path

import click


@click.command("paper", epilog="\b\nExamples:\n  repro new paper NAME\n  repro new paper NAME --dir DIR")
@click.argument("name")
@click.option(
    "--dir",
    "directory",
    metavar="DIR",
    help="Make a distribution of its own there, instead of adding to this checkout.",
)
def command(name, directory):
    """Begin another paper: a folder of placeholders that runs at tiny scale, with tests that pass.

    NAME is a Python package's: lower-case letters, digits, underscores.
    """
    from repro.cli.scaffold import scaffold
    from repro.errors import UsageError

    if directory == "":
        raise UsageError("--dir is empty; name a folder, or leave the option out")
    place = Path(directory).expanduser().resolve() if directory is not None else None
    files = scaffold(name, place)
    for path in files:
        print(path)
    test = next(path for path in files if path.name.startswith("test_"))
    if place is not None:
        print(f"next: python -m pip install -e {place}")
    else:
        print("next: repro report --readme docs/papers/index.md, whose table has a line for every paper")
    print(f"then, with the extra `dev`: python -m pytest {test.parent}")
    print(f"then: repro run {name} --table 1 --scale tiny")
    print(f"then: {files[0].parent / 'README.md'} tells how placeholders become the paper")
