"""Stage ``tokenize``: a corpus as token ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from repro.errors import DataError, UsageError, unknown
from repro.progress import Progress

POLICIES = ("chunk", "whole-chunks", "truncate")


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/``: documents in order, each as chunks of at most ``length`` - 2 tokens, without [CLS]
    and [SEP].

    ``chunk`` keeps all consecutive chunks of a document, ``whole-chunks`` all but a shorter last one that is
    not the only one, ``truncate`` the first. With ``titles`` a document is title, separator and text, or the
    text alone where there is no title; without, always the text. One without any token, or with fewer than
    ``fewest_tokens``, gives no row.

    Raises:
        UsageError: an unknown policy, or a length with no room for a token.
        DataError: the tokenizer cannot be read, or no document has any token.
    """
    from datasets import Features, Sequence, Value, load_from_disk

    from repro.nn.checkpoint import load_tokenizer

    if params["policy"] not in POLICIES:
        raise unknown("policy", params["policy"], POLICIES)
    if params["length"] < 3:
        raise UsageError(f"a length of {params['length']} tokens has no room between [CLS] and [SEP]")
    corpus = load_from_disk(str(inputs["corpus"] / "arrow"))
    tokenizer = load_tokenizer(inputs["model"] / "model")
    scratch = out / "scratch.arrow"
    with progress.task("tokenising", total=len(corpus)) as advance:
        tokens = corpus.map(
            _chunker(tokenizer, params, advance),
            batched=True,
            remove_columns=corpus.column_names,
            features=Features(
                {"document": Value("string"), "chunk": Value("int32"), "input_ids": Sequence(Value("int32"))}
            ),
            cache_file_name=str(scratch),
            load_from_cache_file=False,
            new_fingerprint="tokens",  # else datasets pickles the function to make one
        )
    if len(tokens) == 0:
        raise DataError(f"{inputs['corpus']}: no document has any token")
    tokens.save_to_disk(str(out / "arrow"))
    documents = len(tokens.unique("document"))
    facts = {
        "chunks": len(tokens),
        "documents": documents,
        "documents_without_tokens": len(corpus) - documents,
    }
    del tokens
    scratch.unlink()
    return facts


def _chunker(tokenizer, params: dict, advance: Callable[[int], None]) -> Callable[[dict], dict]:
    from repro.nn.text import passage_text

    room = params["length"] - 2

    def count(tokens: int) -> int:
        if tokens < params.get("fewest_tokens", 0):
            return 0
        if params["policy"] == "truncate":
            return min(tokens, 1)
        whole, rest = divmod(tokens, room)
        return whole + bool(rest and (params["policy"] == "chunk" or not whole))

    def chunked(batch: dict) -> dict:
        titles = batch["title"] if params["titles"] else [""] * len(batch["text"])
        titled = zip(titles, batch["text"], strict=True)
        texts = [passage_text(title, text, separator=params["separator"]) for title, text in titled]
        encoded = tokenizer(
            texts,
            add_special_tokens=False,
            return_token_type_ids=False,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]
        advance(len(texts))
        rows = {"document": [], "chunk": [], "input_ids": []}
        for document, ids in zip(batch["id"], encoded, strict=True):
            for chunk in range(count(len(ids))):
                rows["document"].append(document)
                rows["chunk"].append(chunk)
                rows["input_ids"].append(ids[chunk * room : (chunk + 1) * room])
        return rows

    return chunked
