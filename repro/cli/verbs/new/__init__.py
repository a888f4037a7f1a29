"""``repro new``: begin a paper, or an entry of what somebody measured."""

from repro.cli.groups import views

command = views(
    "new",
    {
        "paper": "a folder of placeholders that runs",
        "value": "what somebody measured, from the form of an issue to an entry of others.yaml",
    },
    title="things to begin",
    help="""Begin another paper, or an entry of what somebody measured.""",
    epilog="""\b
Examples:
  repro new paper NAME
  repro new value form.md""",
)
