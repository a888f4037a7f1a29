"""``repro audit``: what does not fit in papers, and what they claim."""

from repro.cli.groups import views

FINDINGS = "repro.plugins.statements.findings_view:command"

command = views(
    "audit",
    {
        "claims": "sentences, marks and bold numbers, judged in the paper and in what was measured",
    },
    default="findings",
    targets={"claims": "repro.plugins.statements.claims_view:command", "findings": FINDINGS},
    help="""List what does not fit in papers, and records that prove themselves altered; nothing is measured.

    Averages that do not recompute, bold numbers that are not the best, sentences and marks that their table
    contradicts, systems published with several values, wrong references, misleading words. Each finding says
    what it is held against: the paper alone, its released code, another paper, a third party.
    """,
    epilog="""\b
Examples:
  repro audit PAPER
  repro audit --strict --format json
  repro audit PAPER --references
  repro audit claims PAPER --failing""",
)
