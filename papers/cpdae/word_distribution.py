"""The decoder's weight of each word of a text (§4.4, Table 4), for any text and any saved model."""

from collections.abc import Sequence
from pathlib import Path

from repro.errors import check_known

SHOWN = ("sigmoid", "largest", "sum")


def view(folder: Path, text: str, *, shown: str, length: int) -> list[tuple[str, float]]:
    """Return the words of a text, each with the sum of the decoder's probabilities over its pieces.

    The text is encoded unmasked. A punctuation mark is a word. A word that the vocabulary cannot spell has
    the value of [UNK].

    Args:
        folder: a model directory with ``decoder.safetensors``.
        shown: reading ``visualised-distribution``. ``sigmoid``: the probabilities of Eq. 3. Their sum over
            the pieces of a word can exceed 1. ``largest``: these divided by the largest probability in the
            vocabulary. ``sum``: these divided by their sum over the vocabulary, i.e. z~ of §3.2.2.
        length: maximum number of tokens, with [CLS] and [SEP]. A word that does not fit completely is left
            out, and so are all words after it.

    Raises DataError if the folder has no model or decoder, UsageError for an unknown ``shown`` or a model
    with fewer positions than ``length``.
    """
    import torch

    from papers.cpdae.decoder import saved_decoder
    from repro.retrieval.nn.checkpoint import check_fits, load_encoder, load_tokenizer

    check_known("way to show a distribution", shown, valid=SHOWN)
    tokenizer, encoder = load_tokenizer(folder), load_encoder(folder).eval()
    decoder = saved_decoder(folder, encoder.config).eval()
    check_fits(encoder, tokenizer, length)
    encoded = tokenizer(text, return_offsets_mapping=True)
    token_words = encoded.word_ids(0)
    kept = _kept(token_words, length)
    ids = [*encoded["input_ids"][:kept], tokenizer.sep_token_id]
    with torch.inference_mode():
        h_cls = encoder(torch.tensor([ids])).last_hidden_state[:, 0]  # (1, H)
        probabilities = torch.sigmoid(decoder(h_cls))[0]  # (V,), Eq. 3
    if shown == "largest":
        probabilities = probabilities / probabilities.max()
    if shown == "sum":
        probabilities = probabilities / probabilities.sum()
    words: dict[int, tuple[int, int, float]] = {}  # where each word begins and ends, and its value
    for token, word, (begin, end) in zip(ids, token_words[:kept], encoded["offset_mapping"], strict=False):
        if word is not None:
            begin, _, value = words.get(word, (begin, end, 0.0))
            words[word] = (begin, end, value + float(probabilities[token]))
    return [(text[begin:end], value) for begin, end, value in words.values()]


vars(view).update(name="word-distribution", version=1)


def _kept(token_words: Sequence[int | None], length: int) -> int:
    """Return the number of tokens kept before the closing [SEP], including [CLS], so that no word is cut."""
    kept = min(length, len(token_words)) - 1
    while kept > 1 and token_words[kept] is not None and token_words[kept] == token_words[kept - 1]:
        kept -= 1
    return kept
