"""``repro claims``"""

from collections import Counter

import click

from repro.cli import completion
from repro.cli.options import scale_option


@click.command(
    "claims", epilog="\b\nExamples:\n  repro claims PAPER --failing\n  repro claims --scale tiny --json"
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@scale_option(help="Whose measurements.")
@click.option(
    "--failing", is_flag=True, help="Only what the paper, our measurements or others' reports contradict."
)
@click.option("--marks", is_flag=True, help="Every mark and bold number on a line of its own.")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
@click.option("--json", "objects", is_flag=True, help="One object per statement, marks and bold included.")
def command(names, scale_name, failing, marks, store, results, objects):
    """Judge what papers state by their own cells, by ours, and by what others report of them.

    Sentences of the text, marks of significance and bold numbers; of several measures each is judged by
    itself: it holds, fails or is untested. Marks need the tests between rows that `repro compare` stores; an
    order without a test says "means only". Of reports (`repro reported`) the closest in kind on each cell
    judges, unless it matches by name alone; how these were made is told. Where a study compares what a
    sentence is about on equal terms, its difference is told below; it judges no claim. Nothing is run.
    """
    from repro.api.statements import claims
    from repro.cli.printing import emit_json
    from repro.judging.study_answers import answers_in, as_json
    from repro.running.workspace import Workspace

    workspace = Workspace.open(store, results)
    judged = claims(*names, scale=scale_name, workspace=workspace)
    shown = [j for j in judged if j.fails or not failing]
    answered = answers_in(workspace, [text for j in shown for text in j.statement.study])
    if objects:
        return emit_json([{**j.as_json(), "study": as_json(answered, j.statement.study)} for j in shown])
    _print(shown, scale_name, answered, failing=failing, each=marks)


def _print(shown, scale_name: str, answered, *, failing: bool, each: bool) -> None:
    from repro.cli.study_answers import show_answers

    for name in dict.fromkeys(j.statement.paper.name for j in shown):
        own = [j for j in shown if j.statement.paper.name == name]
        _show(name, own, scale_name, each=each)
        pointing = [(j.statement.id.rpartition("/")[2], j.statement.study) for j in own]
        show_answers(name, "claim", pointing, answered)
    if not shown:
        print("nothing is contradicted" if failing else "the papers state nothing that cells can confirm")
    elif scale_name != "full":
        print(f"Scale {scale_name}: says nothing of the paper.")


def _show(name: str, own, scale_name: str, *, each: bool) -> None:
    from repro.cli.printing import table

    shown = [j for j in own if each or j.statement.kind == "claim" or j.published.state == "fails"]
    rows = []
    for j in shown:
        place = [j.statement.id.removeprefix(f"{name}/"), j.statement.where]
        rows.append([*place, _says(j), _judgement(j.published), _judgement(j.ours), _by_reports(j.reported)])
    rows += _folded([j for j in own if j not in shown])
    ours = "ours" if scale_name == "full" else f"ours, {scale_name}"
    head = ["claim", "where", "what is stated", "paper", ours, "reports"]
    table(f"{name}: {_count(own, scale_name)}", head, rows)


def _folded(rest) -> list[list[str]]:
    """Marks and bold numbers that the paper does not contradict, a line for those of a table judged alike."""
    groups: dict[tuple, list] = {}
    for j in rest:
        others = j.reported.state if j.reported.speaks else ""
        key = j.statement.kind, j.statement.where, j.published.state, j.ours.state, others
        groups.setdefault(key, []).append(j)
    return [
        [f"{same[0].statement.tables[0]}/{kind}/…", where, f"{len(same)} {_noun(kind, same)}", *states]
        for (kind, where, *states), same in groups.items()
    ]


def _noun(kind: str, members) -> str:
    return {"mark": "mark", "bold": "bold number"}[kind] + ("s" if len(members) > 1 else "")


def _says(judged) -> str:
    s = judged.statement
    assumed = f"ours in it: {s.assumed}" if s.assumed else ""
    return "\n= ".join(filter(None, [s.says, assumed, s.note if judged.fails else ""]))


def _by_reports(reported) -> str:
    """The state, how many cells have a report, and how these were made; empty where none has one."""
    cells = f"{len(reported.used)} of {reported.cells} cells"
    if not reported.speaks:
        return f"say nothing ({cells})" if reported.used else ""
    made = ", ".join(f"{number} {start}" for start, number in reported.kinds.items())
    lines = [_judgement(reported.judgement), f"{cells}: {made}", reported.like_beside_like]
    return "\n".join(filter(None, lines))


def _judgement(judgement) -> str:
    test = f" ({judgement.test})" if judgement.test and judgement.state != "untested" else ""
    first, *more = judgement.why.split("; ")
    why = f": {first}" if first and judgement.state == "fails" else ""
    why += f"; and {len(more)} more" if why and more else ""
    why += f"\n{judgement.differs_by_measure}" if judgement.differs_by_measure else ""
    return f"{judgement.state}{test}{why}"


def _count(own, scale_name: str) -> str:
    published, ours = _parts(j.published.state for j in own), _parts(j.ours.state for j in own)
    count = f"{len(own)} statements; in the paper: {published}; ours at {scale_name}: {ours}"
    others = _parts(j.reported.state for j in own if j.reported.speaks)
    return f"{count}; by reports: {others}" if others else count


def _parts(states) -> str:
    counts = Counter(states)
    return ", ".join(f"{counts[s]} {s}" for s in ("holds", "fails", "untested") if counts[s])
