"""The texts of a stage that encodes in blocks, as tokens, prepared while the model is busy with others."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from repro.retrieval.nn.batches import in_background, token_batches, tokenised_together
from repro.retrieval.nn.precision import ready_for_device
from repro.retrieval.nn.text import passage_rows

AHEAD = 2  # groups that lie ready; while the model is at one, the next are made
T = TypeVar("T")
Titled = tuple[str, str]
Batches = list[tuple[list[int], dict[str, torch.Tensor]]]


@dataclass(frozen=True)
class TextGroup:
    """Some texts of the block of ``size`` texts that begins with row ``first``.

    Attributes:
        places: of these texts in the block.
        batches: their places among these texts and their inputs; None for the texts of a whole block that is
            there already.
        begins, ends: whether these are the first, and the last, of the block.
    """

    first: int
    size: int
    places: Sequence[int]
    batches: Batches | None
    begins: bool = True
    ends: bool = True


def prepared_batches(tokenizer, texts: Sequence[Titled], params: dict) -> Batches:
    """Batches of texts: the places of each batch's texts, and its inputs, from where a GPU can fetch them.

    Args:
        params: of the stage, with ``length`` and ``separator``.
    """
    titles, bodies = zip(*texts, strict=True)
    rows = passage_rows(tokenizer, titles, bodies, length=params["length"], separator=params["separator"])
    return [(places, ready_for_device(batch)) for places, batch in token_batches(rows)]


def token_groups(
    blocks: Iterable[tuple[int, int]],
    texts: Callable[[int, int], list[Titled]],
    prepare: Callable[[list[Titled]], Batches],
    *,
    there: Callable[[int, int], bool],
):
    """A context that gives the ``TextGroup``s of the blocks in order, made in the background.

    Args:
        blocks: first row and end of each.
        texts: titles and texts of a range of rows.
        prepare: ``prepared_batches`` for a tokenizer.
        there: whether the block of such a range is finished already.
    """
    return in_background(_groups(blocks, texts, prepare, there), ahead=AHEAD)


def _groups(blocks, texts, prepare, is_there) -> Iterator[TextGroup]:
    for first, end in blocks:
        if is_there(first, end):
            yield TextGroup(first, end - first, range(end - first), None)
            continue
        block = texts(first, end)
        groups = list(tokenised_together(block))
        for places in groups:
            batches = prepare([block[place] for place in places])
            edges = {"begins": places is groups[0], "ends": places is groups[-1]}
            yield TextGroup(first, end - first, places, batches, **edges)


def in_turn(
    groups: Iterable[TextGroup], encode: Callable[[Batches], T]
) -> Iterator[tuple[TextGroup, T | None]]:
    """Yield each group with what ``encode`` gives for it, None where there is nothing to encode.

    The next group is begun before one is handed out, so that a GPU has work while results are written.
    """
    previous = None
    for group in groups:
        current = group, None if group.batches is None else encode(group.batches)
        if previous is not None:
            yield previous
        previous = current
    if previous is not None:
        yield previous
