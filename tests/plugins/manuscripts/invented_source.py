"""The source of a paper that nobody wrote: tables whose numbers fit, to plant faults in one by one."""

from dataclasses import replace
from pathlib import Path

from repro.plugins.manuscripts.source_tables import Manuscript, Place
from tests.plugins.manuscripts.source_tables import table

MAIN = """
Model|MS MARCO passage dev|<|<|DL 2019 passage
|MRR@10|R@100|R@1000|nDCG@10
"""
MAIN_ROWS = """
Sparse
BM25|18.7|65.8|85.7|51.2
Otter|25.0|_75.1_|91.2|**60.4**
Heron|**27.7**|**76.9**|**94.7**|_59.9_
Marten|_26.1_|74.0|_92.8_|58.3
Dense
ANCE|33.0†|84.1†|95.9†|64.5†
Lynx|34.1†|85.9†|96.3†|66.0†
Stoat|_36.6†_|_87.3†_|_97.1†_|_68.8†_
Stork|**38.2†**|**88.7†**|**98.0†**|**71.4†**
"""
CAPTION = "Best in bold, second best underlined. † is a significant improvement over BM25 (paired t-test)."
ZERO = "Model|TREC-COVID|NFCorpus|FiQA|ArguAna|SciFact|Avg."
ZERO_ROWS = """
BM25|0.656|0.325|0.236|0.315|0.665|0.439
ANCE|0.654|0.237|0.295|0.415|0.507|0.422
Lynx|0.689|0.314|0.306|0.413|0.601|0.465
Stoat|0.712|0.330|0.311|0.428|0.632|0.483
Stork|0.741|0.341|0.329|0.437|0.655|0.501
"""
QUESTIONS = "Model|NQ test Top-20|NQ test Top-100|MRR@10 on MS MARCO passage dev"
QUESTION_ROWS = """
BM25|59.11|73.71|18.7
ANCE|81.91 (+22.80)|87.51 (+13.80)|33.0 (+14.3)
Lynx|82.30 (+23.19)|87.89 (+14.18)|34.1 (+15.4)
Stork|84.49 (+25.38)|88.50 (+14.79)|38.2 (+19.5)
"""
SIZES = "Collection|Train|Dev|Test|Total"
SIZE_ROWS = """
Rivers|1200|150|150|1500
Lakes|900|80|120|1100
Ponds|310|40|50|400
"""
PROSE = (
    "Stork reaches 38.2 in Table 1. It improves from 18.7 to 38.2 in MRR@10, as Table 1 shows. "
    "Stork outperforms Stoat by 1.6 points in MRR@10. As Table 1 shows, Otter has an MRR@10 of 25.0."
)
FIRST = {"main": 1, "zero": 101, "questions": 201, "sizes": 301, "prose": 401}


def source(old: str = "", new: str = "") -> Manuscript:
    """Return the source with one text changed, which has to stand in it once."""
    texts = {"main": MAIN_ROWS, "zero": ZERO_ROWS, "questions": QUESTION_ROWS, "sizes": SIZE_ROWS}
    texts["prose"] = PROSE
    if old:
        (place,) = [name for name, text in texts.items() if text.count(old) == 1]
        texts[place] = texts[place].replace(old, new)
    tables = (
        table(MAIN, texts["main"], CAPTION, first=FIRST["main"]),
        table(ZERO, texts["zero"], "nDCG@10 on collections of BEIR", first=FIRST["zero"]),
        table(QUESTIONS, texts["questions"], first=FIRST["questions"]),
        table(SIZES, texts["sizes"], first=FIRST["sizes"]),
    )
    numbered = tuple(replace(each, number=str(number)) for number, each in enumerate(tables, 1))
    prose = Place(Path("paper.tex"), FIRST["prose"]), texts["prose"]
    return Manuscript(Path("paper.tex"), numbered, (prose,))
