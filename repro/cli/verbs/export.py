"""``repro export``"""

import click

from repro.cli.options import selecting
from repro.errors import UsageError


@click.command(
    "export",
    epilog="""\b
Examples:
  repro export PAPER --table 1 --to ro-crate -o DIR --license https://creativecommons.org/licenses/by/4.0/""",
)
@selecting
@click.option("--to", "form", type=click.Choice(["ro-crate"]), required=True, help="Which form.")
@click.option("-o", "--output", metavar="DIR", required=True, help="A folder that is empty or not there yet.")
@click.option("--license", "licence", metavar="URL", help="For what is written; without it none is stated.")
@click.option(
    "--by", "author", metavar="NAME", help="An ORCID or an organisation; without it nobody is named."
)
def command(selection, form, output, licence, author):
    """Write the records of the selected cells, and all that is known of how they came about, for others.

    ro-crate is a deposit (RO-Crate 1.3): records, verdicts, scores of every query, and digests of the data,
    code and artefacts behind them. What the store no longer holds is said to be missing.
    """
    from datetime import UTC, datetime
    from pathlib import Path

    from repro.exchange.provenance import History, accounts
    from repro.exchange.ro_crate import write_crate
    from repro.judging.comparison import judged_cells

    plan, workspace = selection.plan(), selection.workspace
    comparison = judged_cells(plan, workspace.results, workspace.store)
    history = History(workspace.store)
    told = [account for compared in comparison.cells for account in accounts(compared, plan, history)]
    if not told:
        reason = f"nothing is recorded for the selected cells at scale {selection.scale}"
        raise UsageError(f"{reason}; `repro run` or `repro import-run` them first")
    write_crate(told, history, Path(output), licence=licence, author=author, now=datetime.now(UTC))
    cells = {account.compared.cell.id for account in told}
    without = len(comparison.cells) - len(cells)
    print(f"{output}: {len(told)} records of {len(cells)} cells; nothing is recorded for {without} others")
