"""``repro audit claims``"""

from collections import Counter

import click

from repro.cli import completion
from repro.cli.options import json_option, scale_option


@click.command(
    "claims",
    epilog="\b\nExamples:\n  repro audit claims PAPER --failing\n  repro audit claims --scale tiny",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@scale_option(help="Whose measurements.")
@click.option(
    "--failing", is_flag=True, help="Only what the paper, our measurements or others' values contradict."
)
@json_option
def command(names, scale_name, failing, as_json):
    """Judge what papers state by their own cells, by ours, and by what others state of them.

    Sentences of the text, marks of significance and bold numbers; of several measures each is judged by
    itself: it holds, fails or is untested. Marks need the tests between rows that `repro compare` stores; an
    order without a test says "means only". Of what others state (`repro show others`) the closest in kind
    on each cell judges, unless it matches by name alone; how it was made is told. Where a study compares what
    a sentence is about on equal terms, its difference is told below; it judges no claim. Nothing is run.
    """
    from repro.cli.printing import emit_json
    from repro.plugins.statements.api import claims
    from repro.running.workspace import Workspace
    from repro.verdicts.beside import answers_in

    workspace = Workspace.open()
    statements = claims(*names, scale=scale_name, workspace=workspace)
    selection = [j for j in statements if j.fails or not failing]
    pointers = [text for j in selection for text in j.statement.study]
    answers = answers_in(pointers, workspace.results, workspace.store, workspace.machine)
    if as_json:
        return emit_json([{**j.as_json(), "study": answers.as_json(j.statement.study)} for j in selection])
    _print_statements(selection, scale_name, answers, failing=failing)


def _print_statements(statements, scale_name: str, answers, *, failing: bool) -> None:
    from repro.cli.printing import say

    for name in dict.fromkeys(j.statement.paper.name for j in statements):
        group = [j for j in statements if j.statement.paper.name == name]
        _print_table(name, group, scale_name)
        pointers = [(j.statement.id.rpartition("/")[2], j.statement.study) for j in group]
        answers.show(name, "claim", pointers)
    if not statements:
        say("nothing is contradicted" if failing else "the papers state nothing that cells can confirm")
    elif scale_name != "full":
        say(f"Scale {scale_name}: says nothing of the paper.")


def _print_table(name: str, statements, scale_name: str) -> None:
    from repro.cli.printing import table

    singles = [j for j in statements if j.statement.kind == "claim" or j.published.state == "fails"]
    rows = []
    for j in singles:
        place = [j.statement.id.removeprefix(f"{name}/"), j.statement.where]
        rows.append([*place, _text(j), _judgement(j.published), _ours(j), _others(j.others)])
    rows += _grouped_rows([j for j in statements if j not in singles])
    ours = "ours" if scale_name == "full" else f"ours, {scale_name}"
    head = ["claim", "where", "what is stated", "paper", ours, "others"]
    table(f"{name}: {_count(statements, scale_name)}", head, rows, drop=(1,))


def _grouped_rows(statements) -> list[list[str]]:
    """Marks and bold numbers that the paper does not contradict, a line for those of a table judged alike."""
    groups: dict[tuple, list] = {}
    for j in statements:
        others_state = j.others.state if j.others.speaks else ""
        ours = f"{j.ours.state}{' (in doubt)' * bool(j.doubts)}"
        key = j.statement.kind, j.statement.where, j.published.state, ours, others_state
        groups.setdefault(key, []).append(j)
    return [
        [f"{group[0].statement.tables[0]}/{kind}/…", where, f"{len(group)} {_noun(kind, group)}", *states]
        for (kind, where, *states), group in groups.items()
    ]


def _noun(kind: str, members) -> str:
    return {"mark": "mark", "bold": "bold number"}[kind] + ("s" if len(members) > 1 else "")


def _text(item) -> str:
    s = item.statement
    assumption = f"ours in it: {s.assumed}" if s.assumed else ""
    return "\n= ".join(filter(None, [s.says, assumption, s.note if item.fails else ""]))


def _others(others) -> str:
    """The state, how many cells have a value of others, and how these were made; empty where none has one."""
    cells = f"{len(others.used)} of {others.cells} cells"
    if not others.speaks:
        return f"say nothing ({cells})" if others.used else ""
    kinds = ", ".join(f"{number} {start}" for start, number in others.kinds.items())
    lines = [_judgement(others.judgement), f"{cells}: {kinds}", others.like_beside_like]
    return "\n".join(filter(None, lines))


def _judgement(judgement) -> str:
    test = f" ({judgement.test})" if judgement.test and judgement.state != "untested" else ""
    first, *tail = judgement.why.split("; ")
    reason = f": {first}" if first and judgement.state == "fails" else ""
    reason += f"; and {len(tail)} more" if reason and tail else ""
    reason += f"\n{judgement.differs_by_measure}" if judgement.differs_by_measure else ""
    return f"{judgement.state}{test}{reason}"


def _ours(item) -> str:
    """The judgement by our numbers, with what is doubtful about them."""
    doubts = f"\nin doubt: {', '.join(item.doubts)}" if item.doubts else ""
    return _judgement(item.ours) + doubts


def _count(items, scale_name: str) -> str:
    published, ours = _counts(j.published.state for j in items), _counts(j.ours.state for j in items)
    count = f"{len(items)} statements; in the paper: {published}; ours at {scale_name}: {ours}"
    others = _counts(j.others.state for j in items if j.others.speaks)
    return f"{count}; by others: {others}" if others else count


def _counts(states) -> str:
    counts = Counter(states)
    return ", ".join(f"{counts[s]} {s}" for s in ("holds", "fails", "untested") if counts[s])
