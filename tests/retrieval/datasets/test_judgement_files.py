import random

import pytest

from repro.errors import DataError
from repro.retrieval.datasets.record_files import judgements
from repro.retrieval.datasets.records import Judgement


def _write(path, content):
    path.write_bytes(content.encode())
    return path


def test_beir_rows_are_read_with_and_without_header_and_with_windows_line_ends(tmp_path):
    rows = "q1\td1\t1\r\nq1\td2\t0\r\n"
    expected = [Judgement("q1", "d1", 1), Judgement("q1", "d2", 0)]
    for header in ("", "query-id\tcorpus-id\tscore\r\n"):
        assert list(judgements(_write(tmp_path / "test.tsv", header + rows), "beir")) == expected


def test_trec_rows_may_be_parted_by_any_white_space_and_have_negative_grades(tmp_path):
    path = _write(tmp_path / "qrels.txt", "1 0 d1 3\n1\tQ0\td2  -2\r\n")
    assert list(judgements(path, "trec")) == [Judgement("1", "d1", 3), Judgement("1", "d2", -2)]


def test_a_repeated_row_is_given_again_so_that_rows_can_be_counted(tmp_path):
    path = _write(tmp_path / "qrels.txt", "1 0 d1 1\n1 0 d1 1\n")
    assert len(list(judgements(path, "trec"))) == 2


MALFORMED = {
    "too few columns": ("trec", "1 0 d2", "has 3 columns instead of 4"),
    "too many columns": ("trec", "1 0 d 2 1", "has 5 columns instead of 4"),
    "a grade with a point": ("trec", "1 0 d2 1.0", "the grade '1.0' is not an integer"),
    "a grade in words": ("beir", "1\td2\thigh", "the grade 'high' is not an integer"),
    "a grade with an underscore": ("beir", "1\td2\t1_0", "is not an integer"),
    "blanks for tabs": ("beir", "1 d2 1", "has 1 columns instead of 3 parted by tabs"),
    "a blank in an id": ("beir", "1\td 2\t1", "has white space"),
    "no document": ("beir", "1\t\t1", "the document id is ''"),
    "another grade": ("trec", "1 0 d1 2", "judges 'd1' for query '1' as 2, a line before as 1"),
}


@pytest.mark.parametrize(("format", "row", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_row_is_refused_with_its_number_and_reason(tmp_path, format, row, reason):
    good = "1 0 d1 1\n" if format == "trec" else "1\td1\t1\n"
    path = _write(tmp_path / "qrels", good + row + "\n")
    with pytest.raises(DataError, match=f"qrels:2: .*{reason}"):
        list(judgements(path, format))


def test_a_header_alone_is_refused(tmp_path):
    with pytest.raises(DataError, match="no judgements"):
        list(judgements(_write(tmp_path / "test.tsv", "query-id\tcorpus-id\tscore\n"), "beir"))


def test_a_damaged_file_gives_rows_or_a_data_error_but_never_another_error(tmp_path):
    generator = random.Random(7)
    good = b"".join(b"q%d\t0\td%d\t%d\n" % (n % 5, n, n % 3) for n in range(40))
    for _ in range(300):
        damaged = bytearray(good)
        for _ in range(generator.randrange(1, 6)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        path = tmp_path / "qrels.txt"
        path.write_bytes(bytes(damaged))
        try:
            rows = list(judgements(path, "trec"))
        except DataError as error:
            assert str(error).startswith(str(path))
        else:
            assert all(isinstance(row.grade, int) for row in rows)
