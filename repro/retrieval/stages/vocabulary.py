"""Stage ``vocabulary``: a WordPiece vocabulary trained on a corpus."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, WhitespaceSplit
from tokenizers.trainers import BpeTrainer
from transformers import BertTokenizer

from repro.errors import UsageError
from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ALPHABET = 1000  # as in BertWordPieceTokenizer

_INSIDE = 0xF0000  # offset inside a word: Unicode's private planes


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``model/``: an uncased BERT tokenizer of at most ``size`` entries, e.g. 8,000."""
    if params["size"] < 2 * len(SPECIAL):
        raise UsageError(f"a vocabulary of {params['size']} entries has no room for an alphabet")
    corpus = read_rows(inputs["corpus"])
    with progress.task("counting words", total=len(corpus)) as advance:
        words = counted_words(_texts(corpus, advance))
    entries = [*SPECIAL, *word_pieces(words, size=params["size"] - len(SPECIAL))]
    tokenizer = BertTokenizer(vocab={entry: place for place, entry in enumerate(entries)})
    tokenizer.save_pretrained(out / "model")
    return {"entries": len(entries), "words": words.total(), "distinct_words": len(words)}


def counted_words(texts: Iterable[str]) -> Counter[str]:
    """Return how often each lower-cased word occurs, split as by BERT's tokeniser."""
    normalizer, splitter = BertNormalizer(lowercase=True), BertPreTokenizer()
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    return words


def word_pieces(words: Counter[str], *, size: int) -> list[str]:
    """Return at most ``size`` pieces: characters, then merges of the most frequent pairs.

    Hugging Face's WordPiece trainer depends on the order of a hash map (tokenizers issue 1794). Plain BPE,
    for which characters inside a word are moved to a private plane, always gives the same merges.
    """
    moved_words = Counter({word[0] + _move_inside(word[1:]): count for word, count in words.items()})
    alphabet = _alphabet(moved_words, size=min(ALPHABET, size // 2))
    rare_characters = dict.fromkeys(map(ord, set("".join(moved_words)) - alphabet))
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = WhitespaceSplit()
    trainer = BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=sorted(alphabet))
    tokenizer.train_from_iterator(_repeat(moved_words, rare_characters), trainer)
    by_number = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    return [_as_word_piece(piece) for piece, _ in by_number]


def _texts(corpus, advance) -> Iterator[str]:
    for batch in corpus.select_columns(["title", "text"]).iter(batch_size=1000):
        for title, text in zip(batch["title"], batch["text"], strict=True):
            yield f"{title} {text}"
        advance(len(batch["title"]))


def _move_inside(tail: str) -> str:
    return "".join(chr(_INSIDE + ord(character)) for character in tail if ord(character) < 0x20000)


def _as_word_piece(piece: str) -> str:
    codes = (ord(character) for character in piece)
    tail = "".join(chr(code - _INSIDE if code >= _INSIDE else code) for code in codes)
    return f"##{tail}" if ord(piece[0]) >= _INSIDE else tail


def _alphabet(words: Counter[str], *, size: int) -> set[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    return set(sorted(counts, key=lambda character: (-counts[character], character))[:size])


def _repeat(words: Counter[str], rare_characters: dict[int, None]) -> Iterator[str]:
    for word in sorted(words):
        spelling = word.translate(rare_characters)
        for first in range(0, words[word] if spelling else 0, 1000):
            yield " ".join([spelling] * min(1000, words[word] - first))
