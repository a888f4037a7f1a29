"""``repro doctor same-code``: edited code is shown to give the same bits. It is a tool for maintainers."""

from pathlib import Path

import click

SHOWN = 10  # outputs that are named


@click.command(
    "same-code",
    epilog="""\b
Examples:
  repro doctor same-code           after an edit: compute the recorded outputs, then write results/code.yaml
  repro doctor same-code --check   compute the outputs of the newest line again, and write nothing
  repro doctor same-code --renew   after a raised version or a changed recipe: record their outputs anew""",
)
@click.option("--check", is_flag=True, help="Check the newest line of results/code.yaml. Write nothing.")
@click.option("--renew", is_flag=True, help="Record the outputs of stages that are planned otherwise.")
def command(check, renew):
    """Compute the recorded outputs with the code here, and note equal code in results/code.yaml.

    The outputs are those of every stage and objective at scale smoke. In addition, a few cells at scale tiny
    are measured from scratch. If every bit is equal, numbers on record stay without doubt. If a bit differs,
    the output is named and nothing is written. It takes about two minutes on two cores.

    Exit status 1 means that something differs.
    """
    import tempfile

    from repro.machine import kernels

    kernels.pin()  # before numpy loads
    from repro.cli.printing import say
    from repro.errors import UsageError
    from repro.plugins.same_code.same_code import SameCode
    from repro.progress import TerminalProgress
    from repro.store import Store

    if check and renew:
        raise UsageError("--check cannot be combined with --renew")
    with tempfile.TemporaryDirectory(prefix="repro-same-code-") as folder:
        checked = SameCode(Store(Path(folder)), TerminalProgress())
        comparison = checked.compare(checked.newest() if check else None)
        refused = comparison.differing + ([] if renew else comparison.planned_otherwise)
        for sentence in refused[:SHOWN]:
            say(sentence)
        if refused:
            say(f"{len(refused)} outputs or cells are not as recorded. Nothing was written.")
            return 1
        stages = [] if check else checked.write(comparison)
    say(f"{len(comparison.now)} outputs and {comparison.cells} cells are equal to the last bit.")
    say(f"{len(stages)} lines of results/code.yaml are new." if stages else "No line was written.")
    return 0
