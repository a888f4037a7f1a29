"""``repro report``: the page of everything, figures, pages of a site, an article."""

from repro.cli.groups import views

command = views(
    "report",
    {
        "figures": "drawings and views from what was measured",
        "site": "a page per table for a documentation site: row, command, published, measured",
    },
    default="page",
    epilog="""\b
Examples:
  repro report --open                          report.html in the browser
  repro report PAPER --scale tiny -o FILE      one paper, one scale
  repro report --format markdown               a summary, what fails first
  repro report figures PAPER --scale tiny      its figures
  repro report site -o docs/tables             a page for every table""",
)
