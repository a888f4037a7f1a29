"""Findings of one fact, told once."""

from repro.plugins.statements.findings import Finding, with_joined_facts


def _finding(identifier, severity="doubt", says="differs", place="p/1/a/x", value="0.1", explanation=""):
    return Finding(severity, "claim", "paper", "p", identifier, (place,), (value,), says, explanation)


def test_the_first_tells_with_the_graver_severity_and_all_places():
    first = _finding("p/claim/a")
    second = _finding(
        "p/reading/b", "error", "says so: why", place="p/2/a/x", value="0.2", explanation="known"
    )
    [told] = with_joined_facts([first, second], (("p/claim/a", "p/reading/b"),))
    assert (told.id, told.severity, told.says) == ("p/claim/a", "error", "differs")
    assert told.places == ("p/1/a/x", "p/2/a/x") and told.values == ("0.1", "0.2")
    assert told.explanation == "says so: why; known"


def test_what_is_not_there_is_passed_over_and_the_next_tells():
    [told] = with_joined_facts([_finding("p/reading/b")], (("p/claim/a", "p/reading/b"),))
    assert told == _finding("p/reading/b")


def test_one_that_explains_two_facts_is_told_in_both_and_not_by_itself():
    findings = [_finding("a"), _finding("b"), _finding("c", says="why")]
    told = with_joined_facts(findings, (("a", "c"), ("b", "c")))
    assert [(f.id, f.explanation) for f in told] == [("a", "why"), ("b", "why")]


def test_an_explanation_is_not_repeated():
    assert (
        _finding("a", explanation="known; so").explained("so; and more").explanation == "known; so; and more"
    )
