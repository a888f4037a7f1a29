import hashlib
import itertools
import subprocess
import sys
from collections import Counter

import pytest

from repro.errors import UsageError
from repro.retrieval.nn.checkpoint import load_tokenizer
from repro.retrieval.stages import vocabulary
from repro.retrieval.stages.vocabulary import SPECIAL, counted_words, word_pieces


def test_a_vocabulary_has_the_size_and_berts_special_tokens(corpus, tmp_path, progress):
    facts = vocabulary.run({"size": 120}, {"corpus": corpus}, tmp_path, progress)
    tokenizer = load_tokenizer(tmp_path / "model")
    assert facts["entries"] == len(tokenizer) == 120
    assert tokenizer.convert_ids_to_tokens(range(5)) == list(SPECIAL)
    assert tokenizer.unk_token_id == 1 and tokenizer.pad_token_id == 0
    encoded = tokenizer("The RIVER bridges!")["input_ids"]
    tokens = tokenizer.convert_ids_to_tokens(encoded)
    assert tokens[0] == "[CLS]" and tokens[-1] == "[SEP]"
    assert "".join(tokens[1:-2]).replace("##", "") == "theriverbridges"
    assert tokens[-2] == "[UNK]"  # no exclamation mark in the corpus


def test_a_corpus_with_few_words_gives_fewer_entries(corpus, tmp_path, progress):
    facts = vocabulary.run({"size": 30_000}, {"corpus": corpus}, tmp_path, progress)
    assert facts["entries"] == len(load_tokenizer(tmp_path / "model")) < 1500


def test_the_same_corpus_gives_the_same_vocabulary_in_every_process():
    # every word equally frequent: only the order of equals decides
    program = (
        "import hashlib, itertools, sys; sys.path[:0] = sys.argv[1].split('\\n')\n"
        "from collections import Counter\n"
        "from repro.retrieval.stages.vocabulary import word_pieces\n"
        "words = Counter({''.join(word): 3 for word in itertools.product('abcdefghi', repeat=3)})\n"
        "print(hashlib.sha256(' '.join(word_pieces(words, size=200)).encode()).hexdigest())"
    )
    words = Counter({"".join(word): 3 for word in itertools.product("abcdefghi", repeat=3)})
    here = hashlib.sha256(" ".join(word_pieces(words, size=200)).encode()).hexdigest()
    path = "\n".join(sys.path)
    there = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here


def test_merges_are_those_of_hfs_own_trainer_where_counts_decide():
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.trainers import WordPieceTrainer

    # pairs: a ##b 137, then ab ##c 100, d ##e 61, b ##c 11, e ##d 7: never two alike
    words = Counter(abc=100, ab=37, bc=11, de=61, ed=7)
    reference = Tokenizer(WordPiece(unk_token="[UNK]"))
    reference.pre_tokenizer = WhitespaceSplit()
    how = {"special_tokens": [], "show_progress": False}
    trainer = WordPieceTrainer(vocab_size=9 + 4, **how)
    reference.train_from_iterator([" ".join([word] * count) for word, count in words.items()], trainer)
    theirs = {piece for piece in reference.get_vocab() if len(piece.removeprefix("##")) > 1}
    pieces = word_pieces(words, size=8 + 4)
    ours = [piece for piece in pieces if len(piece.removeprefix("##")) > 1]
    assert set(ours) == theirs
    assert ours == ["ab", "abc", "de", "bc"]


def test_words_are_counted_as_berts_tokeniser_splits_them():
    words = counted_words(["The king's CASTLE, the Castle.", "naïve"])
    assert words == Counter({"the": 2, "castle": 2, "king": 1, "'": 1, "s": 1, ",": 1, ".": 1, "naive": 1})


def test_rare_characters_are_left_out_when_there_is_no_room(monkeypatch):
    monkeypatch.setattr(vocabulary, "ALPHABET", 3)
    pieces = word_pieces(Counter(aab=5, ab=4, zz=1), size=10)
    assert not any("z" in piece for piece in pieces)
    assert set(pieces) >= {"a", "##a", "##b", "ab"}


def test_a_character_beyond_the_basic_plane_comes_back():
    pieces = word_pieces(Counter({"a𝒳": 5, "𝒳a": 5}), size=10)
    assert set(pieces) == {"a", "𝒳", "##a", "##𝒳", "a𝒳", "𝒳a"}


def test_a_size_without_room_is_refused(corpus, tmp_path, progress):
    with pytest.raises(UsageError, match="vocabulary of 6 entries"):
        vocabulary.run({"size": 6}, {"corpus": corpus}, tmp_path, progress)
