"""``repro new``: begin a paper, or what plugins add."""

from repro.cli.groups import views

command = views(
    "new",
    {
        "paper": "a folder of placeholders that runs",
        "site": "what jobs ask of a cluster, as a profile of Snakemake",
    },
    title="things to begin",
    help="""Begin another paper, a profile of a cluster, or an entry of what somebody measured.""",
    epilog="""\b
Examples:
  repro new paper NAME
  repro new site DIR
  repro new value form.md""",
)
