"""Prints a study's answers to readings and claims, for `repro show readings` and `repro audit claims`."""

from collections.abc import Iterable, Mapping, Sequence

from repro.plugins.studies.study_answers import Answer, answers_in_words


def show_answers(
    paper: str,
    kind: str,
    pointing: Iterable[tuple[str, Sequence[str]]],
    answered: Mapping[str, Sequence[Answer]],
) -> None:
    """Print a line for every comparison that readings or claims, by id, point at; nothing without one."""
    from repro.cli.printing import table

    lines = [
        [name, text, answers_in_words(answered[text])] for name, pointers in pointing for text in pointers
    ]
    if lines:
        title = f"{paper}: on equal terms and at a small size, which says nothing of the published numbers"
        table(title, [kind, "comparison", "difference"], lines)
