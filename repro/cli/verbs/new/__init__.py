"""``repro new``: begin a paper, or what plugins add."""

from repro.cli.groups import views

command = views(
    "new",
    {
        "paper": "a folder of placeholders that runs",
    },
    title="things to begin",
    help="""Begin another paper, or an entry of what somebody measured.""",
    epilog="""\b
Examples:
  repro new paper NAME
  repro new value form.md""",
)
