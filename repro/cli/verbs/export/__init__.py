"""``repro export``: records, a run, an encoder, or artefacts, for others."""

from repro.cli.groups import views

command = views(
    "export",
    {
        "run": "the run behind a measured cell, with ir_metadata if asked",
        "encoder": "the model behind a measured cell, as other libraries load it",
        "artefacts": "stored artefacts of the selected cells, to another store",
    },
    title="things to export",
    help="""Write records, a run, an encoder or artefacts where others can use them.""",
    epilog="""\b
Examples:
  repro export run PAPER/1/ROW/dl19.ndcg10 -o run.trec.gz
  repro export encoder PAPER/1/ROW/COLUMN -o DIR
  repro export records PAPER --to ro-crate -o DIR
  repro export artefacts PAPER --to /mnt/shared/store""",
)
