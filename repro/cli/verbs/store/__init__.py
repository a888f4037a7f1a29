"""``repro store``: verify the store and its records, and remove what nothing needs."""

from repro.cli.groups import views

command = views(
    "store",
    {
        "verify": "read every artefact and record, name the damaged ones, compute some again",
        "gc": "what in the store no manifest needs; --yes removes it",
    },
    title="things to do",
    help="""Look after the store of artefacts and the records.""",
    epilog="""\b
Examples:
  repro store verify --deep
  repro store gc --yes""",
)
