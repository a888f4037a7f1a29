r"""The ``table`` environment around a tabular, and a document around tables, for an author's paper.

A table needs ``booktabs`` and ``graphicx``; a study's also ``amssymb``.
"""

from collections.abc import Mapping, Sequence

from repro import __version__
from repro.report.latex_text import escape

PACKAGES = ("booktabs", "graphicx", "amssymb")
# floats fill a page before they leave it
FLOATS = r"""\renewcommand{\topfraction}{.95}\renewcommand{\bottomfraction}{.95}
\renewcommand{\textfraction}{.05}\renewcommand{\floatpagefraction}{.8}
\setcounter{topnumber}{9}\setcounter{bottomnumber}{9}\setcounter{totalnumber}{9}\setcounter{dbltopnumber}{9}
\makeatletter\def\fps@table{!htb}
\@fptop0pt \@fpsep2em \@fpbot0pt plus 1fil
\@dblfptop0pt \@dblfpsep2em \@dblfpbot0pt plus 1fil
\makeatother"""


def environment(
    tabular: Sequence[str], *, above: Sequence[str], short: str, caption: str, label: str, wide: bool
) -> str:
    r"""A table environment; the tabular is made narrower where the text is, and never wider.

    Args:
        above: lines of comment.
        short: the caption for a list of tables; both captions are LaTeX.
        label: what ``\ref`` names it by.
        wide: whether it spans both columns of a two-column paper.
    """
    name = "table*" if wide else "table"
    lines = [
        *(f"% {line}" for line in above),
        rf"\begin{{{name}}}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption[{{{short}}}]{{{caption}}}",
        rf"\label{{{label}}}",
        r"\smallskip",
        r"\sbox0{%",
        *tabular,
        r"}%",
        r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
        rf"\end{{{name}}}",
    ]
    return "\n".join(lines) + "\n"


def document(sections: Mapping[str, Sequence[str]], *, scale: str, two_column: bool = False) -> str:
    """A whole document with title and contents around generated tables.

    Args:
        sections: heading -> the tables below it.
    """
    body = "\n\\clearpage\n".join(
        "\n".join([rf"\section{{{escape(heading)}}}", *tables]) for heading, tables in sections.items()
    )
    return "\n".join(
        [
            rf"\documentclass[10pt,a4paper{',twocolumn' if two_column else ''}]{{article}}",
            r"\usepackage[utf8]{inputenc}",
            *(rf"\usepackage{{{name}}}" for name in PACKAGES),
            r"\usepackage[margin=2cm]{geometry}",
            r"\usepackage[hidelinks]{hyperref}",
            FLOATS,
            r"\title{Published and measured}",
            rf"\author{{repro {__version__}, scale {escape(scale)}}}",
            r"\date{}",
            r"\begin{document}",
            r"\maketitle",
            r"\tableofcontents",
            r"\listoftables",
            body,
            r"\end{document}",
            "",
        ]
    )
