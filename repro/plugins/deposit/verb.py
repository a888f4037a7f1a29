"""``repro export records records``"""

import click

from repro.cli.options import selecting_everything
from repro.cli.printing import say
from repro.errors import UsageError


@click.command(
    "records",
    epilog="""\b
Examples:
  repro export records PAPER --table 1 --to ro-crate -o DIR --license https://creativecommons.org/licenses/by/4.0/
  repro export records PAPER --to every-eval-ever -o DIR --by "A Lab\"""",
)
@selecting_everything
@click.option("--to", "form", type=click.Choice(["ro-crate", "every-eval-ever"]), required=True)
@click.option("-o", "--output", metavar="DIR", required=True, help="A folder that is empty or not there yet.")
@click.option("--license", "licence", metavar="URL", help="Of a deposit; without it none is stated.")
@click.option("--by", metavar="NAME", help="An ORCID or an organisation; without it nobody is named.")
def command(selection, form, output, licence, by):
    """Write the records of the selected cells, and all that is known of how they came about, for others.

    ro-crate is a deposit (RO-Crate 1.3): records, verdicts, scores of every query, and digests of the data,
    code and artefacts behind them. every-eval-ever is a log of each published number and one of ours (schema
    0.3.0), with an interval and the scores of every query. What the store no longer holds is told.
    """
    from datetime import UTC, datetime
    from pathlib import Path

    from repro.plugins.deposit.history import History, accounts_of
    from repro.verdicts.comparison import judged_cells

    _check_options(form, licence, by)
    plan, workspace = selection.plan(), selection.workspace
    comparison = judged_cells(plan, workspace.results, workspace.store)
    history = History(workspace.store)
    accounts = accounts_of(comparison, plan, history)
    if contradictions := [c.cell.id for c in comparison.cells if c.contradicted]:
        reason = "the stored scores contradict their records, `repro run` records them anew"
        say(f"left out ({reason}): {', '.join(contradictions)}")
    if not accounts:
        reason = f"there is no record of the selected cells at scale {selection.scale} to export"
        raise UsageError(f"{reason}; `repro run` or `repro import run` them first")
    place, now = Path(output), datetime.now(UTC)
    if form == "ro-crate":
        from repro.plugins.deposit.ro_crate import write_crate

        write_crate(accounts, history, place, licence=licence, author=by, now=now)
    else:
        from repro.plugins.deposit.every_eval_ever import write_logs

        _print_summary(write_logs(accounts, history, place, by=by, now=now))
    cells = {account.compared.cell.id for account in accounts}
    missing = len(comparison.cells) - len(cells)
    print(f"{output}: {len(accounts)} records of {len(cells)} cells; {missing} others have none to export")


def _check_options(form: str, licence: str | None, by: str | None) -> None:
    """Refuse what no deposit could state."""
    if licence and form != "ro-crate":
        raise UsageError("--license is for --to ro-crate; the schema of every_eval_ever has no place for it")
    if licence is not None and not licence.startswith(("https://", "http://")):
        raise UsageError(f"--license is {licence!r}, which is no URL; give the address of the licence's text")
    if by is not None and not (by.strip() and by.isprintable()):
        raise UsageError(f"--by is {by!r}, which names nobody; give an ORCID or an organisation in UTF-8")


def _print_summary(summary) -> None:
    if summary.left_out:
        reason = "a bound, or no measure of retrieval in a fraction or percent"
        say(f"left out, being {reason}: {', '.join(summary.left_out)}")
    if summary.without_queries:
        reason = "the store lacks them, or they do not give the recorded value"
        say(f"without scores of queries ({reason}): {', '.join(summary.without_queries)}")
    print(f"{summary.published} logs of published numbers, {summary.measured} of ours")
