"""A cell of LaTeX is the text that is printed, its style, and its marks apart."""

import pytest

from tests.plugins.manuscripts.sources import manuscript, seen

MACROS = r"""
\newcommand{\best}[1]{\textbf{#1}}
\newcommand\second[2][\dag]{\underline{#2}$^{#1}$}
\def\B{\bfseries}
\let\bst\best
\newcommand{\ours}{\textsc{Heron}\xspace}
\newcommand{\oursbig}{\ours-big}
\DeclareMathOperator{\mrr}{MRR}
"""
CELLS = {
    ".366": ".366",
    r"36.6\%": "36.6%",
    "+1.2": "+1.2",
    "$-$": "-",
    "--": "–",
    "N/A": "N/A",
    r"8{,}841{,}823": "8,841,823",
    r"8\,841\,823": "8841823",
    r"\num{36.6}": "36.6",
    r"\textbf{36.6}": "**36.6**",
    r"{\bf 36.6}": "**36.6**",
    r"\bfseries 36.6": "**36.6**",
    r"$\mathbf{36.6}$": "**36.6**",
    r"$\mathbf{36.6}^{\dagger}$": "**36.6**^†",
    r"{\boldmath$36.6$}": "**36.6**",
    r"\underline{36.6}": "36.6_",
    r"\uline{\textbf{36.6}}": "**36.6**_",
    r"\ul{36.6}": "36.6_",
    r"\emph{36.6}": "36.6",
    r"36.6$^{\dagger\ddagger}$": "36.6^†^‡",
    r"36.6\textsuperscript{a,b}": "36.6^a^b",
    r"36.6$^{abc}$": "36.6^a^b^c",
    r"36.6\dag": "36.6^†",
    r"36.6\textdagger\ddag": "36.6^†^‡",
    r"36.6$^*$": "36.6^*",
    r"36.6$^{**}$": "36.6^**",
    r"36.6$^{\star}$": "36.6^⋆",
    r"\textsuperscript{1}Heron": "Heron^1",
    r"$^{\diamond}$Heron": "Heron^♢",
    r"Heron\tnote{b}": "Heron^b",
    r"Heron\footnotemark[2]": "Heron^2",
    r"Heron\tablefootnote{Trained by us.}": "Heron^footnote",
    r"36.6$_{\pm0.1}$": "36.6±0.1",
    r"36.6$^{\pm 0.1}$": "36.6±0.1",
    r"$36.6 \pm 0.1$": "36.6±0.1",
    r"36.6$_{+1.2}$": "36.6 (+1.2)",
    r"36.6\textsubscript{0.3}": "36.6 (0.3)",
    r"$3 \times 10^{-5}$": "3×10^-5",
    r"E5$_{\text{base}}$": "E5base",
    r"nDCG$_{10}$": "nDCG10",
    r"S$^3$-Rank": "S^3-Rank",
    r"w/o $w^c_{ij}$": "w/o w^cij",
    r"2$^{\mathrm{nd}}$ stage": "2nd stage",
    r"\textcolor{red}{36.6}": "36.6",
    r"\cellcolor[gray]{.9}36.6": "36.6",
    r"\cellcolor{blue!10}\textbf{36.6}": "**36.6**",
    r"\rotatebox{90}{MRR@10}": "MRR@10",
    r"\rotatebox[origin=c]{90}{\textbf{MRR@10}}": "**MRR@10**",
    r"\turnbox{45}{MRR}": "MRR",
    r"\begin{turn}{90}MRR\end{turn}": "MRR",
    r"\makecell[c]{MS MARCO\\Dev}": "MS MARCO Dev",
    r"\shortstack{TREC\\DL 19}": "TREC DL 19",
    r"\thead{TREC \\ DL 20}": "TREC DL 20",
    r"\begin{tabular}{@{}c@{}}TREC\\DL 20\end{tabular}": "TREC DL 20",
    r"Heron~\cite{heron}": "Heron",
    r"Heron (\citealp{heron})": "Heron",
    r"Touch\'e \& Zo\"e \#1": "Touché & Zoë #1",
    r"\verb|a_b|": "a_b",
    r"36.6\footnotemark[1] \verb+50%$+": "36.6 50%$^1",
    r"$\checkmark$": "✓",
    r"\ding{55}": "✗",
    r"\phantom{0}6.6": "6.6",
    r"\unheard{36.6}": "36.6",
    r"\unheard": r"\unheard",
    r"\best{36.6}": "**36.6**",
    r"\bst{36.6}": "**36.6**",
    r"\second{36.6}": "36.6_^†",
    r"\second[*]{36.6}": "36.6_^*",
    r"\B 36.6": "**36.6**",
    r"\oursbig": "Heron-big",
    r"$\mrr@10$": "MRR@10",
    r"36.6% a note": "36.6",
    r"36.6\iffalse 99.9\fi": "36.6",
}  # fmt: skip


def test_what_is_printed_is_read_and_how(tmp_path):
    body = "\n".join(f"{n} & {cell}\n\\\\" for n, cell in enumerate(CELLS))
    (table,) = manuscript(tmp_path, f"\\begin{{tabular}}{{ll}}\n{body}\n\\end{{tabular}}", MACROS).tables
    given = {int(row[0].text): seen(row[1]) for row in (*table.head, *table.body)}
    assert {cell: given.get(number) for number, cell in enumerate(CELLS)} == CELLS
    assert table.legend == ("Trained by us.",)


def test_what_a_macro_prints_that_nobody_knows_is_told(tmp_path):
    (table,) = manuscript(tmp_path, r"\begin{tabular}{ll}a & b\\ c & \unheard{3}\\\end{tabular}").tables
    assert table.notes == (f"{tmp_path}/main.tex:4: Unknown macros: \\unheard",)


@pytest.mark.parametrize(
    ("macros", "cell"),
    [
        (r"\newif\ifdraft\drafttrue", r"\ifdraft 1.0\else 2.0\fi"),
        (r"\newif\ifdraft", r"\ifdraft 2.0\else 1.0\fi"),
        (r"\iftrue\newcommand{\x}{1.0}\else\newcommand{\x}{9.0}\fi", r"\x"),
        (r"\newcommand{\x}{9.0}\renewcommand{\x}{1.0}", r"\x"),
        (r"\newcommand{\x}{1.0}\providecommand{\x}{9.0}", r"\x"),
        (r"\newenvironment{mine}[1]{#1}{.0}", r"\begin{mine}{1}\end{mine}"),
        (r"\renewcommand{\textbf}[1]{9.0}", r"\underline{1.0}\hspace{1em}"),
        (r"\makeatletter\def\x@y{1.0}\let\xy\x@y\makeatother", r"\xy"),
    ],
)
def test_definitions_and_conditionals_are_followed(tmp_path, macros, cell):
    (table,) = manuscript(
        tmp_path, f"\\begin{{tabular}}{{ll}}a & b\\\\ c & {cell}\\\\\\end{{tabular}}", macros
    ).tables
    assert table.body[-1][-1].text == "1.0"


def test_a_comparison_is_told_and_its_else_is_read(tmp_path):
    made = manuscript(tmp_path, r"\begin{tabular}{ll}a & b\\ c & \ifnum\x>2 9.0\else 1.0\fi\\\end{tabular}")
    assert made.tables[0].body[-1][-1].text == "1.0"
    assert made.notes == (f"{tmp_path}/main.tex:4: \\ifnum is not evaluated. The part after \\else is read.",)
