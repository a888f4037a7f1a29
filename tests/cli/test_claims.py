from repro.manifest.papers import papers
from repro.plugins.statements.claims import claims_of

CLAIMS = """\
claims:
- {id: words-win, where: §5, about: ["1"], says: words are above the other, expect: 'above("1/bm25/dev", "1/other/dev")'}
"""


def test_every_statement_is_there_with_both_judgements(repro):
    rows = repro("audit claims --format json").json
    assert {row["paper"] for row in rows} == {n for n, p in papers().items() if claims_of(p)}
    assert {row["published"]["state"] for row in rows} == {"holds", "fails", "untested", "not judgeable"}
    assert {row["ours"]["state"] for row in rows} == {"untested"}
    assert len({row["id"] for row in rows}) == len(rows)
    assert "costa/claim/seven-percent-over-seed" in {row["id"] for row in rows}
    implausible = [row for row in rows if row["deviation"] and row["deviation"]["verdict"] == "implausible"]
    bold = [row["id"] for row in implausible if row["kind"] == "bold" and row["id"].startswith("costa/1/")]
    assert bold == ["costa/1/bold/bm25neg.costa/dl19.ndcg10"]
    said = " ".join(repro("audit claims costa").out.split())
    assert "implausible" in said


def test_a_failing_claim_is_shown_with_the_cells_against_it(repro, toy):
    toy.with_name("claims.yaml").write_text(CLAIMS)
    said = repro("audit claims toy --failing").out
    assert "words-win" in said and "1/bm25/dev 0.1 vs." in said.replace("\n", " ")
    assert [row["id"] for row in repro("audit claims toy --failing --format json").json] == [
        "toy/claim/words-win"
    ]


def test_a_paper_that_states_nothing_says_so(repro, toy):
    toy.write_text(toy.read_text().replace('"0.2*"', '"0.2"'))
    assert repro("audit claims toy").err == "The papers have no statements to judge.\n"
    assert repro("audit claims toy --failing").err == "No statement is contradicted.\n"


def test_our_measurement_is_judged_and_said_to_be_scaled(repro, measured):
    said = repro("audit claims costa --scale tiny")
    assert said.err.rstrip().endswith("Scale tiny does not judge the paper.")
    rows = repro("audit claims costa --scale tiny --format json").json
    assert {row["says_of_paper"] for row in rows} == {False}


def test_a_broken_claim_is_one_sentence_with_its_line(repro, toy):
    toy.with_name("claims.yaml").write_text(CLAIMS.replace("other/dev", "other/nowhere"))
    said = repro("audit claims toy")
    assert "claims.yaml:2" in said.refusal and "has no column nowhere." in said.sentence


def test_what_others_report_judges_beside_the_paper_and_ours_and_changes_neither(repro, toy, report):
    toy.with_name("claims.yaml").write_text(
        CLAIMS.replace('bm25/dev", "1/other/dev', 'bm25/dl", "1/bm25/dev')
    )
    before = repro("audit claims --format json").json
    report("toy/1/bm25/dl", "0.05")
    after = repro("audit claims --format json").json
    heard = after[0]["others"]
    assert (heard["state"], heard["cells"], [one["value"] for one in heard["used"]]) == (
        "untested",
        2,
        [0.05],
    )
    assert "untested (1 of 2 cells)" in repro("audit claims").out
    assert [row | {"others": None} for row in after] == [row | {"others": None} for row in before]
