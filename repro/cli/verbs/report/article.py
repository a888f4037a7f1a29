"""``repro report article``"""

import click

from repro.cli import completion
from repro.cli.options import scale_option, seeds_of
from repro.errors import UsageError


@click.command(
    "article",
    epilog="""\b
Examples:
  repro report article PAPER --scale small-cpu --seeds 1,2,3
  repro report article PAPER --scale small-cpu --seeds 1,2,3 -o DIR""",
)
@click.argument("name", metavar="PAPER", shell_complete=completion.study_names)
@scale_option(default="full", help="The scale of the study's tables.")
@click.option("--seeds", metavar="1,2,3", help="The seeds of the study.")
@click.option("-o", "--out", metavar="DIR", help="Where to write instead of RESULTS/articles/SCALE/PAPER.")
def command(name, scale_name, seeds, out):
    """Write a study as an article: its prose with tables, pictures and numbers of what was measured.

    The prose is article.md in the paper's folder, in which {{name argument ...}} stands for what is
    generated. What was not measured is said to be so. The article is index.md, article.html, which needs no
    network to be read, and each picture as SVG, for light and dark ground, with its numbers as CSV.
    """
    from pathlib import Path

    from repro.manifest.papers import paper
    from repro.report.article.files import write
    from repro.report.article.results import StudyResults
    from repro.running.scale import scale
    from repro.running.workspace import Workspace
    from repro.store import translated_errors

    if out == "":
        raise UsageError("--out names no folder; give the one that the article goes into")
    workspace, source = Workspace.open(), paper(name)
    study = StudyResults(source, scale(scale_name).name, seeds_of(seeds), workspace)
    folder = Path(out) if out else workspace.results.root / "articles" / scale_name / name
    command = f"repro report article {name} --scale {scale_name}" + (f" --seeds {seeds}" if seeds else "")
    with translated_errors(
        *((folder, "folder", "--out") if out else (folder, "results folder", "--results or REPRO_RESULTS"))
    ):
        for path in write(study, folder, command=command):
            print(path)
