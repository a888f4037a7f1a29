from repro.retrieval.datasets import reading
from repro.retrieval.datasets.catalog import FITTING, VALIDATION, dataset, in_fold
from repro.retrieval.datasets.sources import locate

POOL = "msmarco-passage/train-pool-12k"


def queries(split: str, data) -> set[str]:
    return {query.id for query in reading.queries(locate(f"{POOL}/{split}", "queries", data))}


def test_an_id_is_in_one_fold_by_its_crc32_alone_and_always_in_the_whole():
    ids = [str(number) for number in range(60)]
    assert [id for id in ids if in_fold(id, VALIDATION)] == ["9", "12", "15", "32", "34", "47"]
    assert all(in_fold(id, FITTING) is not in_fold(id, VALIDATION) for id in ids)
    assert all(in_fold(id, None) for id in ids)


def test_queries_of_training_are_either_fitted_on_or_held_out_and_none_is_a_test_query(real_data):
    fitting, held_out = queries("train/fitting", real_data), queries("train/validation", real_data)
    assert not fitting & held_out and fitting | held_out == queries("train", real_data)
    assert not (fitting | held_out) & queries("dev", real_data)


def test_a_fold_has_the_judgements_of_its_queries(real_data):
    judged = {}
    for fold in ("train/fitting", "train/validation"):
        source = locate(f"{POOL}/{fold}", "qrels", real_data)
        judged[fold] = {judgement.query for judgement in reading.judgement_rows(source)}
        assert judged[fold] == queries(fold, real_data)
        assert len(judged[fold]) == dataset(f"{POOL}/{fold}").counts["queries"]
