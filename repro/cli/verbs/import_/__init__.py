"""``repro import``: somebody else's run, or artefacts of another store."""

from repro.cli.groups import views

command = views(
    "import",
    {
        "run": "score somebody else's run file for cells, or the public runs",
        "artefacts": "artefacts of the selected cells from another store, checked on arrival",
    },
    title="things to import",
    help="""Take in what others made: a run, which is scored for cells, or artefacts of another store.""",
    epilog="""\b
Examples:
  repro import run run.trec.gz PAPER/1/ROW/dl19.ndcg10 --source "the authors' page"
  repro import artefacts PAPER --from /mnt/shared/store""",
)
