from tests.standins import checkpoints, texts
from tests.standins.__main__ import make_home
from tests.standins.sizes import Sizes

SMALL = dict.fromkeys(("queries", "evaluated", "triples", "questions", "articles", "books", "beir"), 12)
SIZES = Sizes(**SMALL, passages=60, documents=60, wiki=90)


def test_equal_sizes_and_seeds_give_equal_bytes(tmp_path):
    for name in ("one", "other"):
        make_home(tmp_path / name, SIZES)
    ours = {
        path.relative_to(tmp_path / "one"): path for path in (tmp_path / "one").rglob("*") if path.is_file()
    }
    assert len(ours) > 40
    for name, path in ours.items():
        assert path.read_bytes() == (tmp_path / "other" / name).read_bytes(), name


def test_the_vocabulary_is_as_large_as_berts_with_its_specials_in_their_places():
    entries = checkpoints.vocabulary()
    assert len(entries) == len(set(entries)) == 30_522
    assert [entries.index(f"[{name}]") for name in ("PAD", "UNK", "CLS", "SEP", "MASK")] == [
        0,
        100,
        101,
        102,
        103,
    ]


def test_nltk_reads_the_model_of_sentences(tmp_path):
    from repro.retrieval.datasets.sentence_splitting import sentence_splitter

    texts.make(tmp_path, SIZES)
    split = sentence_splitter("nltk", tmp_path).split
    assert split("Dr. Bran was at home. The rain fell.") == ["Dr. Bran was at home.", "The rain fell."]
