"""Tables of Markdown, HTML, CSV and TSV files are read like LaTeX's."""

import pytest

from repro.plugins.manuscripts.reading import read
from tests.plugins.manuscripts.sources import heads, rows, written

MARKDOWN = """# Results

Table 3: Results of Heron.

| Model | MRR@10 | R@1k |
|:------|-------:|-----:|
| BM25 [link](https://example.org) | 18.7 | 85.7 |
| Heron<sup>a</sup> | **39.9**\\* | <u>98.1</u> |
| *Crane* | 38.0 $\\pm$ 0.1 | - |

Heron has 39.9.
"""
HTML = """<p>Before.</p><table>
<caption>Table 3: Results of Heron.</caption>
<thead><tr><th rowspan=2>Model</th><th colspan="2">Dev</th></tr>
<tr><th>MRR@10</th><th>R@1k</th></tr></thead>
<tr><td>BM25</td><td>18.7</td><td rowspan="2">85.7</td></tr>
<tr><td>Heron<sup>a</sup></td><td><b>39.9</b>*</td></tr>
<tr><td colspan=3><i>Others</i></td></tr>
<tr><td>Crane<script>x()</script></td><td style="font-weight: bold">38.0</td><td><u>98.0</u></td></tr>
</table>"""


def test_a_table_of_markdown(tmp_path):
    made = read(written(tmp_path, MARKDOWN, "README.md"))
    (table,) = made.tables
    assert heads(table) == [["Model", "MRR@10", "R@1k"]]
    assert rows(table) == [
        ["BM25 link", "18.7", "85.7"],
        ["Heron^a", "**39.9**^*", "98.1_"],
        ["Crane", "38.0±0.1", "-"],
    ]
    assert (table.number, table.caption) == ("3", "Table 3: Results of Heron.")
    assert [row[0].place.line for row in (*table.head, *table.body)] == [5, 7, 8, 9]
    assert [(place.line, said) for place, said in made.prose][-1] == (11, "Heron has 39.9.")


@pytest.mark.parametrize("name", ["table.html", "README.md"])
def test_a_table_of_html_also_within_markdown(tmp_path, name):
    (table,) = read(written(tmp_path, HTML, name)).tables
    assert heads(table) == [["Model", "Dev", "Dev"], ["Model", "MRR@10", "R@1k"]]
    assert rows(table) == [
        ["BM25", "18.7", "85.7"],
        ["Heron^a", "**39.9**^*", "85.7"],
        ["Others"] * 3,
        ["Crane", "**38.0**", "98.0_"],
    ]
    assert (table.number, table.body[2][0].columns) == ("3", 3)
    assert table.body[1][1].place.line == 6


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_values_with_separators(tmp_path, name, mark):
    text = 'Model,Dev,Dev\n,MRR@10,R@1k\nBM25,18.7,"85.7"\nHeron,**39.9***'
    (table,) = read(written(tmp_path, text.replace(",", mark), name)).tables
    assert len(table.head) == 2
    assert rows(table) == [["BM25", "18.7", "85.7"], ["Heron", "**39.9**^*", ""]]
    assert table.body[1][0].place.line == 4
