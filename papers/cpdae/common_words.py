"""The share of common words in the decoder's predictions (§3.3, conclusions 1 and 2)."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from repro.errors import ReproError, UsageError

if TYPE_CHECKING:
    import torch

BATCH = 64


@dataclass(frozen=True)
class WordShares:
    """Means over texts of the shares behind two conclusions that the paper states without numbers:
    contrastive pre-training predicts common words less and the other words of the text more.

    Attributes:
        common: the sum over common words of the word distribution (z~ of §3.2.2, which sums to 1).
        own: the distribution's sum over the words of the text that are not common.
        of_text: the share of common words in the distribution's sum over the words of the text.
        by_count: the share of common words among the distinct words of the text. A decoder with equal values
            for all words would have this ``of_text``.
        texts: the number of texts with both kinds of words.
    """

    common: float
    own: float
    of_text: float
    by_count: float
    texts: int


def commonest(rows: Sequence[Sequence[int]], count: int, *, left_out: Sequence[int]) -> list[int]:
    """Return the ``count`` token ids that occur in the most rows, the most frequent first and smaller ids
    first in ties. Ids in ``left_out`` do not count."""
    frequencies = Counter(token for row in rows for token in set(row) - set(left_out))
    return sorted(frequencies, key=lambda token: (-frequencies[token], token))[:count]


def word_shares(
    distributions: "torch.Tensor",
    rows: Sequence[Sequence[int]],
    *,
    common: Sequence[int],
    left_out: Sequence[int],
) -> WordShares:
    """Return the shares of common words in the word distributions of N texts, as means over the texts.

    Args:
        distributions: (N, V), rows that sum to 1.
        rows: the ids of each of the N texts.
        common: the ids of common words.
        left_out: ids that do not count as words of a text, e.g. special tokens.

    Raises UsageError if no text has both common and other words.
    """
    held, every = set(common), sorted(common)
    found = []
    for distribution, row in zip(distributions, rows, strict=True):
        words = set(row) - set(left_out)
        shared, own = sorted(words & held), sorted(words - held)
        if shared and own:
            of_shared, of_own = (float(distribution[ids].sum()) for ids in (shared, own))
            part = of_shared / (of_shared + of_own)
            found.append((float(distribution[every].sum()), of_own, part, len(shared) / len(words)))
    if not found:
        raise UsageError("no text has both common and other words. Give longer texts or fewer common words.")
    means = [fmean(column) for column in zip(*found, strict=True)]
    return WordShares(means[0], means[1], means[2], means[3], texts=len(found))


def decoded(folder: Path, rows: Sequence[Sequence[int]]) -> "torch.Tensor":
    """Return the word distributions, (N, V), of a saved model and its decoder for unmasked texts of these
    ids. Raises DataError if the folder has no model or no decoder."""
    import torch

    from papers.cpdae.decoder import saved_decoder
    from papers.cpdae.distribution_contrast import word_distributions
    from repro.retrieval.nn.checkpoint import load_encoder, load_tokenizer
    from repro.retrieval.nn.tokens import TokenRows

    encoder = load_encoder(folder).eval()
    decoder = saved_decoder(folder, encoder.config).eval()
    texts, made = TokenRows.of(rows, padding=load_tokenizer(folder).pad_token_id), []
    with torch.inference_mode():
        for start in range(0, len(rows), BATCH):
            inputs = texts.inputs(slice(start, start + BATCH))
            h_cls = encoder(**inputs).last_hidden_state[:, 0]  # (n, H)
            made.append(word_distributions(decoder(h_cls), normalisation="sum"))  # (n, V)
    return torch.cat(made)


def shares_of(folder: Path, texts: Sequence[str], *, common: int, length: int) -> WordShares:
    """Return the shares of the ``common`` commonest words of these texts in a saved model's predictions, with
    texts cut to ``length`` tokens. Raises DataError without model or decoder, UsageError as
    ``word_shares``."""
    from repro.retrieval.nn.checkpoint import load_tokenizer
    from repro.retrieval.nn.tokens import token_ids

    tokenizer = load_tokenizer(folder)
    rows, special = token_ids(tokenizer, texts, length=length), tokenizer.all_special_ids
    ids = commonest(rows, common, left_out=special)
    return word_shares(decoded(folder, rows), rows, common=ids, left_out=special)


def _read(path: Path, count: int) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from (line.strip() for _, line in zip(range(count), lines, strict=False) if line.strip())
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path} cannot be read as text ({error}). Give one text per line.") from None


def main(arguments: Sequence[str]) -> int:
    """Run ``python -m papers.cpdae.common_words TEXTS MODEL_FOLDER...`` and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m papers.cpdae.common_words", description=__doc__)
    parser.add_argument("texts", metavar="TEXTS", type=Path, help="a file with one text per line")
    parser.add_argument(
        "folders", metavar="MODEL_FOLDER", type=Path, nargs="+", help="a model pre-trained by CPDAE"
    )
    parser.add_argument("--most", type=int, default=2000, help="number of lines to read (default: 2000)")
    parser.add_argument("--common", type=int, default=100, help="number of common words (default: 100)")
    parser.add_argument(
        "--length", type=int, default=64, help="maximum number of tokens of a text (default: 64)"
    )
    chosen = parser.parse_args(arguments)
    try:
        texts = list(_read(chosen.texts, chosen.most))
        print(
            "| model | common words | other words of the text | common among the text's | by count | texts |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for folder in chosen.folders:
            found = shares_of(folder, texts, common=chosen.common, length=chosen.length)
            parts = (
                f"{100 * part:.2f} %" for part in (found.common, found.own, found.of_text, found.by_count)
            )
            print(f"| {folder} | {' | '.join(parts)} | {found.texts} |")
    except ReproError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
