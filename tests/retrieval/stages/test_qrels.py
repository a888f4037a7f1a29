from repro.retrieval.stages import qrels
from tests.noted import Noted
from tests.retrieval.datasets.folders import beir_folder, planned, without_counts


def _run(id, root, out, progress):
    facts = qrels.run(planned("qrels", root, dataset=id), {}, out, progress)
    return facts, (out / "qrels.trec").read_text(encoding="utf-8")


def test_each_pair_is_written_once_in_trec_format(tmp_path, progress, monkeypatch):
    without_counts(monkeypatch, "beir/scifact/train", "beir/scifact/test")
    beir_folder(tmp_path / "beir/scifact")
    facts, text = _run("beir/scifact/train", tmp_path, tmp_path, progress)
    assert text == "1 0 d1 1\n2 0 d2 1\n" and (facts["qrels"], facts["queries"]) == (2, 2)
    facts, text = _run("beir/scifact/test", tmp_path, tmp_path, progress)
    assert text == "3 0 d0 2\n3 0 d1 0\n" and (facts["qrels"], facts["queries"]) == (2, 1)


def test_it_tells_of_every_judgement(tmp_path):
    noted = Noted()
    facts, _ = _run("tiny/passage/dl19", None, tmp_path, noted)
    assert noted.tasks == {
        "reading judgements of tiny/passage/dl19": [None, 0],
        "writing judgements of tiny/passage/dl19": [facts["qrels"]] * 2,
    }


def test_an_answer_judged_set_has_an_empty_file(tmp_path, progress):
    facts, text = _run("tiny/wiki/test", None, tmp_path, progress)
    assert text == "" and facts["qrels"] == 0


def test_what_is_written_is_read_back_by_the_fields_own_tools(tmp_path, progress):
    import ir_measures
    import pytrec_eval

    facts, _ = _run("tiny/passage/dl19", None, tmp_path, progress)
    assert len(list(ir_measures.read_trec_qrels(str(tmp_path / "qrels.trec")))) == facts["qrels"]
    with (tmp_path / "qrels.trec").open() as file:
        assert len(pytrec_eval.parse_qrel(file)) == facts["queries"] == 40


def test_real_judgements_of_every_format_are_written(real_data, tmp_path, progress):
    for id, rows, judged in [
        ("msmarco-passage/trec-dl-2019/judged", 9260, 43),
        ("msmarco-document/dev", 5193, 5193),
        ("beir/nfcorpus/test", 12334, 323),
    ]:
        facts, text = _run(id, real_data, tmp_path, progress)
        assert (facts["qrels"], facts["queries"]) == (rows, judged) and text.count("\n") == rows


def test_the_content_is_the_same_in_another_order_of_lines(tmp_path, progress, monkeypatch):
    without_counts(monkeypatch, "beir/scifact/train")
    file = beir_folder(tmp_path / "beir/scifact") / "qrels/train.tsv"
    facts, _ = _run("beir/scifact/train", tmp_path, tmp_path, progress)
    head, *rows = file.read_text().splitlines(keepends=True)
    file.write_text("".join([head, *rows[1:], rows[0]]))
    turned, _ = _run("beir/scifact/train", tmp_path, tmp_path, progress)
    assert turned["rows"] == facts["rows"] and turned["digest"] != facts["digest"]
