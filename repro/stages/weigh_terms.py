"""Stage ``weigh_terms``: a corpus in which every word stands as often as a model says that it matters."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from repro.datasets.arrow import read_rows, write_rows
from repro.progress import Progress

BATCH = 512  # texts that are read together


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with the columns id, title, empty, and text: DeepCT's frequencies as repeated words.

    The model gives each token of a text, cut to ``length`` tokens, a weight. A word has that of its first
    piece, times ``scale`` and rounded; of a word that occurs several times the highest counts, and one below
    1 is left out (Dai and Callan 2019, DeepCT-Index). An indexer counts the words again.

    Raises:
        BlockedError: half precision without a GPU.
        DataError: the model cannot be read.
        UsageError: an unknown precision, or a length beyond the model's positions.
    """
    from transformers import AutoModelForTokenClassification

    from repro.nn.checkpoint import check_length, load, load_tokenizer
    from repro.nn.precision import check_precision, device, threads_for

    check_precision(params["precision"])
    folder = inputs["model"] / "model"
    model = load(AutoModelForTokenClassification, folder, num_labels=1, dtype="float32").eval().to(device())
    check_length(model, params["length"])
    tokenizer, corpus = load_tokenizer(folder), read_rows(inputs["corpus"])

    def rows() -> Iterator[dict[str, str]]:
        for first in range(0, len(corpus), BATCH):
            part = corpus[first : first + BATCH]
            weighed = weights(model, tokenizer, part["text"], params)
            for identifier, pairs in zip(part["id"], weighed, strict=True):
                counts = frequencies(pairs, scale=params["scale"], special=tokenizer.all_special_tokens)
                yield {"id": identifier, "title": "", "text": repeated(counts)}
            advance(len(part["id"]))

    columns = dict.fromkeys(("id", "title", "text"), "string")
    with threads_for(model), progress.task("weighing terms", total=len(corpus)) as advance:
        return {"documents": write_rows(rows(), columns, out / "arrow")}


def weights(model, tokenizer, texts: Sequence[str], params: dict) -> list[list[tuple[str, float]]]:
    """Each text's tokens with their weights, in order."""
    import torch

    from repro.nn.length_buckets import token_batches
    from repro.nn.precision import autocast, device
    from repro.nn.text import tokenised

    inputs, weighed = tokenised(tokenizer, texts, length=params["length"]), [[] for _ in texts]
    for places, batch in token_batches(inputs):
        with torch.inference_mode(), autocast(params["precision"]):
            logits = model(**{name: value.to(device()) for name, value in batch.items()}).logits.squeeze(-1)
        for place, row in zip(places, logits.float().cpu().tolist(), strict=True):
            length = int(inputs["attention_mask"][place].sum())
            tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][place][:length])
            weighed[place] = list(zip(tokens, row[:length], strict=True))
    return weighed


def frequencies(
    weighed: Sequence[tuple[str, float]], *, scale: float, special: Sequence[str]
) -> dict[str, int]:
    """How often each word of a text is to stand in it, by the weight of its first piece."""
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
    """A text in which every word stands so often."""
    return " ".join(" ".join([word] * count) for word, count in counts.items())
