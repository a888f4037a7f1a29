"""Every fault planted in an invented source is found at its line, and the source itself has none."""

import pytest

from repro.plugins.manuscripts.audit import findings
from tests.plugins.manuscripts.invented_source import source

PLANTED = [  # severity, check, what is changed into what, words of the finding
    ("error", "average", "0.655|0.501", "0.655|0.519", "mean of TREC-COVID to SciFact is 0.5006"),
    ("doubt", "average", "0.655|0.501", "0.655|0.462", "without SciFact it would fit"),
    ("error", "sum", "80|120|1100", "80|120|1110", "sum of Train to Test is 1100"),
    ("error", "delta", "(+15.4)", "(+14.5)", "the difference to BM25 is +15.4"),
    (
        "doubt",
        "bold",
        "**94.7**|",
        "**91.7**|",
        "91.7 is bold and not the best; the best of its group is 92.8",
    ),
    ("note", "bold", "_26.1_|74.0", "_26.1_|76.9", "76.9 is not bold, and equal to one that is"),
    ("doubt", "underline", "_87.3†_", "_85.3†_", "85.3 is underlined and not the second best"),
    ("error", "mark", "34.1†|", "17.9†|", "the mark stands for a significant improvement over BM25"),
    ("doubt", "mark", "34.1†|", "18.7†|", "which has 18.7"),
    ("note", "decimals", "_92.8_", "_92.80_", "7 numbers of the column have 1 digits"),
    ("doubt", "unit", "0.654|0.237", "65.4|0.237", "65.4 is a percentage among fractions"),
    ("doubt", "unit", "**71.4†**", "**0.714†**", "0.714 is a fraction among percentages"),
    ("error", "range", "**98.0†**", "**108.0†**", "108.0 is no value of R@1000"),
    ("error", "cut-off", "_75.1_|91.2", "_75.1_|72.1", "75.1 is above 72.1 of MS MARCO passage dev R@1000"),
    ("doubt", "queries", "73.71", "73.72", "is a multiple of 1/3610"),
    ("note", "two-values", "33.0 (+14.3)", "33.2 (+14.5)", "and 33.0 at paper.tex:9"),
    ("note", "published", "64.5†", "65.1†", "65.1 stands nowhere else"),
    ("doubt", "prose", "reaches 38.2", "reaches 38.4", "38.4 is said to stand in Table 1"),
    ("doubt", "prose", "from 18.7 to 38.2", "from 18.7 to 38.6", "38.6 is no number of Table 1"),
    ("doubt", "prose", "by 1.6 points", "by 2.6 points", "they have 36.6 and 38.2"),
]


def test_a_source_without_faults_has_no_finding():
    assert findings(source()) == []


@pytest.mark.parametrize(("severity", "check", "old", "new", "words"), PLANTED, ids=lambda each: str(each))
def test_a_planted_fault_is_found_and_nothing_else(severity, check, old, new, words):
    [finding] = findings(source(old, new))
    assert (finding.severity, finding.check) == (severity, check)
    assert words in f"{finding.says}; {finding.why}", finding
