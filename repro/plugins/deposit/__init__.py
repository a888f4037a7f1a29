"""Records handed out in the forms of others: a deposit (RO-Crate), and logs of every_eval_ever."""

from repro.hooks import Command, answer


@answer
def commands():
    """Offer the export of records."""
    return {
        "export records": Command(
            "records with their provenance, for a deposit", "repro.plugins.deposit.verb:command"
        )
    }
