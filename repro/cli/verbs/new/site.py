"""``repro new site``"""

from pathlib import Path

import click

from repro.cli.printing import say
from repro.errors import UsageError
from repro.store.disk import translated_errors

TEMPLATE = Path(__file__).parents[2] / "templates" / "site" / "config.yaml"


@click.command("site", epilog="\b\nExamples:\n  repro new site ~/slurm")
@click.argument("directory", metavar="DIR")
def command(directory):
    """Begin a profile of Snakemake for a cluster of Slurm: partitions, jobs at once, how often each is tried.

    It is one file, DIR/config.yaml, to be changed to what the cluster has.
    """
    folder = Path(directory).expanduser()
    file = folder / TEMPLATE.name
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} exists already; name another folder")
    with translated_errors(folder, "folder", ""):
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    print(file)
    say(f"then: repro run PAPER --engine snakemake --profile {folder}")
