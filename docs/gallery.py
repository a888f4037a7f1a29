"""Write ``docs/reference/audit-gallery.md``: invented drafts with 3, 12 and 40 tables, and their findings.

``python docs/gallery.py`` writes the page. ``--drafts FOLDER`` also writes the LaTeX of the drafts.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.plugins.manuscripts.auditing import audited, summary  # noqa: E402

PAGE = ROOT / "docs/reference/audit-gallery.md"
SYSTEMS = ("Shrew", "Mink", "Sable", "Marten", "Otter")
MARK = r"$^\dagger$"
SIZES = ("", *(f"-{2**n}M" for n in range(5, 14)))  # behind the names of systems, by the part of a draft
COLLECTIONS = ("NFCorpus", "FiQA", "ArguAna", "SciFact")
# number of tables -> text, its replacement, the fault
FAULTS: dict[int, tuple[tuple[str, str, str], ...]] = {
    3: (
        ("reaches 39.5 MRR@10", "reaches 40.5 MRR@10", "the text exceeds the table by a point"),
        (r"\textbf{44.4} \\", r"\textbf{45.4} \\", "a wrong average"),
        ("$-$2.7", "+2.7", "a difference with the wrong sign"),
    ),
    12: (
        ("Otter is the best", "Sable is the best", "a superlative that is not true"),
        (r"Sable & 36.5$^\dagger$", r"Sable & 29.1$^\dagger$", "a significant value below its baseline"),
        (r"Mink & 33.2 & 95.0 & 13 \\", r"Mink & 33.9 & 95.0 & 13 \\", "two values for one system"),
        ("& 42.3 &", "& 0.423 &", "a fraction among percentages"),
        ("(paired t-test)", "(p = 0.21)", "a claim against its p-value"),
    ),
    40: (
        (r"$^\dagger$ & \textbf{97.6}", r"$^\dagger$ & \textbf{107.6}", "a recall above 100"),
        (r"\textbf{33.2}", "33.2", "a best value that is not bold"),
        ("Marten & 38.9 & 96.6 &", "Marten & 38.9 & 9b.6 &", "a cell that is no number"),
        ("on 4 of 4 collections", "on 3 of 4 collections", "a wrong count"),
    ),
}
HEAD = """\
# Gallery of audits

Three invented drafts with planted faults, and the output of `repro audit` on each.
`python docs/gallery.py --drafts FOLDER` writes their LaTeX. [The checks](audit-checks.md) lists the checks.
"""


def draft(tables: int, *, has_faults: bool = True) -> str:
    """Return the LaTeX of a draft, e.g. with 12 tables."""
    kinds = (_main, _zero_shot, _ablation, _costs)
    parts = [r"\documentclass{article}\usepackage{booktabs}", r"\title{Otter: A Dense Retriever}"]
    parts += [r"\begin{document}\maketitle", *_prose(tables)]
    for number in range(tables):
        parts.append(kinds[number % 4](number // 4))
    text = "\n".join([*parts, r"\end{document}", ""])
    for old, new, _ in FAULTS[tables] if has_faults else ():
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def _numbers(system: int, part: int) -> list[str]:
    rank = (29.9, 33.2, 36.5, 38.9, 39.5)[system]
    numbers = (rank, 94.2 + 0.8 * system, 60.1 + 2.9 * system)
    return [f"{number + 0.2 * part:.1f}" for number in numbers]


def _systems(part: int) -> list[str]:
    return [f"{name}{SIZES[part]}" for name in SYSTEMS]


def _main(part: int) -> str:
    rows = [(system, _numbers(n, part)) for n, system in enumerate(_systems(part))]
    head = r"Model & MRR@10 & R@1000 & nDCG@10"
    lines = _lines(rows, mark=MARK)
    note = rf"$^\dagger$ marks a significant improvement over Shrew{SIZES[part]} (paired t-test)."
    return _table(f"Results of size {part} on MS MARCO passage dev and BEIR. {note}", head, lines)


def _zero_shot(part: int) -> str:
    rows = []
    for n, system in enumerate(_systems(part)):
        numbers = [round(low + n * 1.2 + part * 0.2, 1) for low in (30.1, 28.4, 39.9, 56.1 + n)]
        rows.append((system, [f"{x:.1f}" for x in (*numbers, sum(numbers) / 4 + 1e-6)]))
    head = " & ".join(("Model", *COLLECTIONS, "Avg."))
    return _table(f"nDCG@10 on four collections of BEIR, size {part}.", head, _lines(rows))


def _ablation(part: int) -> str:
    full = 39.5 + part * 0.2
    losses = (("hard negatives", 4.1), ("distillation", 1.8), ("pre-training", 2.7), ("all three", 6.3))
    rows = [f"Otter{SIZES[part]} & {full:.1f} & --"]
    rows += [f"w/o {name}{SIZES[part]} & {full - loss:.1f} & $-${loss:.1f}" for name, loss in losses]
    head = r"Variant & MRR@10 & $\Delta$"
    return _table(f"Ablation of size {part} on MS MARCO passage dev.", head, rows)


def _costs(part: int) -> str:
    numbered = enumerate(_systems(part))
    rows = [" & ".join((name, *_numbers(n, part)[:2], str(8 + 5 * n))) for n, name in numbered]
    head = r"Model & MRR@10 & R@1000 & Latency (ms)"
    return _table(f"Cost of size {part} on MS MARCO passage dev.", head, rows)


def _lines(rows: list[tuple[str, list[str]]], mark: str = "") -> list[str]:
    best = [max(float(numbers[place]) for _, numbers in rows) for place in range(len(rows[0][1]))]
    lines = []
    for number, (system, numbers) in enumerate(rows):
        bold = [rf"\textbf{{{x}}}" if float(x) == most else x for x, most in zip(numbers, best, strict=True)]
        if mark and number:
            bold[0] += mark
        lines.append(" & ".join((system, *bold)))
    return lines


def _table(caption: str, head: str, lines: list[str]) -> str:
    columns = "l" + "c" * head.count("&")
    body = "\n".join(rf"{line} \\" for line in lines)
    begin = rf"\begin{{table}}\caption{{{caption}}}\begin{{tabular}}{{{columns}}}\toprule"
    return f"{begin}\n{head} \\\\ \\midrule\n{body}\n\\bottomrule\\end{{tabular}}\\end{{table}}"


def _prose(tables: int) -> Iterator[str]:
    yield "Otter reaches 39.5 MRR@10 on MS MARCO (Table 1).\n"
    yield "Otter is the best of all systems on SciFact.\n"
    yield "Otter outperforms Shrew on 4 of 4 collections (Table 2).\n" if tables > 1 else ""


def page() -> str:
    """Return the gallery."""
    parts = [HEAD]
    for tables, faults in FAULTS.items():
        planted = "\n".join(f"- {fault}" for _, _, fault in faults)
        parts.append(
            f"## A draft with {tables} tables\n\nPlanted:\n\n{planted}\n\n```text\n{_output(tables)}\n```\n"
        )
    return "\n".join(parts)


def _output(tables: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"draft{tables}.tex")
        path.write_text(draft(tables), encoding="utf-8")
        made = audited(path)
    found = [f"{path.name}:{f.place.line}: {f.severity} [{f.check}] {f.text}" for f in made.findings]
    return "\n".join([f"$ repro audit {path.name}", *summary([made], made.findings), *found]).replace(
        f"{folder}/", ""
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    if sys.argv[1:2] == ["--drafts"]:
        Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
        for size in FAULTS:
            Path(sys.argv[2], f"draft{size}.tex").write_text(draft(size), encoding="utf-8")
