"""A vocabulary and models small enough for a test: made in memory, nothing downloaded."""

from __future__ import annotations

import functools

import numpy as np
import torch

torch.set_num_threads(1)  # models this small lose time to a second thread, and more to a busy machine

WORDS = (  # noqa: SIM905 (a list of sixty quoted words reads worse)
    "the of and a in to is was it for on as are by with from that this which be "
    "river bridge stone castle garden music violin concert science atom energy planet orbit "
    "market price trade ship harbour sailor storm weather winter summer mountain valley forest "
    "king queen battle peace treaty history museum painting colour light shadow glass window"
).split()
PIECES = ("##s", "##ed", "##ing", "##er", "##ly", "##ness", "##al", "##ion")
MARKS = (".", ",", "-", "(", ")")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@functools.cache
def tiny_tokenizer():
    """WordPiece over about 90 entries: five special ones, marks, words and endings."""
    from transformers import BertTokenizer

    vocabulary = {token: place for place, token in enumerate((*SPECIAL, *MARKS, *WORDS, *PIECES))}
    return BertTokenizer(vocab=vocabulary)


def tiny_masked_lm(*, seed: int = 0, hidden_size: int = 32, layers: int = 1, dropout: float = 0.1):
    """A random BertForMaskedLM over the tiny vocabulary, 64 positions."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=len(tiny_tokenizer()),
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * hidden_size,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return BertForMaskedLM(config)


def tiny_text(generator: np.random.Generator, words: int) -> str:
    """So many words of the vocabulary, some with an ending, some followed by a mark."""
    written = []
    for word in generator.choice(WORDS, words):
        ending = generator.choice(PIECES)[2:] if generator.random() < 0.3 else ""
        mark = generator.choice(MARKS) if generator.random() < 0.2 else ""
        written.append(f"{word}{ending}{mark}")
    return " ".join(written)


def save_tiny_model(folder, *, seed: int = 0, layers: int = 1) -> None:
    tiny_masked_lm(seed=seed, layers=layers).save_pretrained(folder / "model")
    tiny_tokenizer().save_pretrained(folder / "model")
