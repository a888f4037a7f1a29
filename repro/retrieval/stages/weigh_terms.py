"""Stage ``weigh_terms``: a corpus with words repeated by a model's weights."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from transformers import AutoModelForTokenClassification

from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows, write_rows
from repro.retrieval.nn import batches, checkpoint, precision
from repro.retrieval.nn.text import text_rows

BATCH = 512
AHEAD = 2  # parts tokenised in advance


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns id, title (empty) and text: DeepCT's frequencies as repeated words.

    A word's frequency is its first piece's weight times ``scale``, rounded, e.g. 0.27 x 10 gives 3. Its
    highest one in ``length`` tokens counts, and words below 1 are left out (Dai and Callan 2019).
    """
    folder, options = inputs["model"] / "model", {"num_labels": 1, "dtype": "float32"}
    model = checkpoint.load(AutoModelForTokenClassification, folder, **options).eval().to(precision.device())
    tokenizer, corpus = checkpoint.load_tokenizer(folder), read_rows(inputs["corpus"])
    checkpoint.check_fits(model, tokenizer, params["length"])
    special = tokenizer.all_special_tokens
    halving_encoder = batches.HalvingEncoder(
        lambda inputs: model(**precision.on_device(inputs)).logits.squeeze(-1)
    )

    def read() -> Iterator[tuple]:
        for first in range(0, len(corpus), BATCH):
            part = corpus[first : first + BATCH]
            yield part["id"], text_rows(tokenizer, part["text"], length=params["length"])

    def rows() -> Iterator[dict[str, str]]:
        with batches.in_background(read(), ahead=AHEAD) as parts:
            for identifiers, tokens in parts:
                weighted_texts = weights(halving_encoder, tokenizer, tokens, params)
                for identifier, pairs in zip(identifiers, weighted_texts, strict=True):
                    counts = frequencies(pairs, scale=params["scale"], special=special)
                    yield {"id": identifier, "title": "", "text": repeated(counts)}
                advance(len(identifiers))

    columns = dict.fromkeys(("id", "title", "text"), "string")
    with precision.threads_for(model), progress.task("weighing terms", total=len(corpus)) as advance:
        count = write_rows(rows(), columns, out / "arrow")
    return {"documents": count, **halving_encoder.facts()}


def weights(encoder, tokenizer, texts, params: dict) -> list[list[tuple[str, float]]]:
    weighted_texts: list[list[tuple[str, float]]] = [[] for _ in range(len(texts))]
    for places, batch in batches.token_batches(texts):
        with torch.inference_mode(), precision.autocast(params["precision"]):
            logits = encoder(batch)
        outputs = zip(places, batch["input_ids"], logits.float().cpu().tolist(), strict=True)
        for place, ids, row in outputs:
            length = int(texts.lengths[place])
            tokens = tokenizer.convert_ids_to_tokens(ids[:length].tolist())
            weighted_texts[place] = list(zip(tokens, row[:length], strict=True))
    return weighted_texts


def frequencies(
    weighed: Sequence[tuple[str, float]], *, scale: float, special: Sequence[str]
) -> dict[str, int]:
    """Return word -> frequency, as in ``run``, from pairs (piece, weight), without ``special`` words."""
    words: list[list] = []
    for token, weight in weighed:
        if token.startswith("##") and words:
            words[-1][0] += token.removeprefix("##")
        else:
            words.append([token, weight])
    counts: dict[str, int] = {}
    for word, weight in words:
        count = round(scale * weight)
        if count >= 1 and word not in special:
            counts[word] = max(count, counts.get(word, 0))
    return counts


def repeated(counts: dict[str, int]) -> str:
    """Return a text with these word frequencies, e.g. ``"a a b"`` for ``{"a": 2, "b": 1}``."""
    return " ".join(" ".join([word] * count) for word, count in counts.items())
