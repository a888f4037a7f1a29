"""A user's runs and encoders as rows of papers' tables, scored and tested like all others."""

from repro.hooks import Command, answer


@answer
def commands():
    """Let `compare` and `doctor smoke` accept the user's runs and encoders."""
    line = "verdicts on recorded numbers, or your run or encoder in a paper's table"
    smoke = "two steps of every stage on the embedded collection, or a test of your encoder"
    return {
        "compare": Command(line, "repro.plugins.yours.compare_verb:command"),
        "doctor smoke": Command(smoke, "repro.plugins.yours.compare_verb:smoke"),
    }


@answer
def public_names():
    """Let `repro.compare` accept the user's runs and encoders."""
    return {"compare": "repro.plugins.yours.compared_with_yours:compare"}
