"""Recipes of the rows of tables and figures (§3, §4, §6), e.g. ``retriever_row``."""

from collections.abc import Sequence

from papers.baselines import released
from papers.baselines.two_stage import marco_passages
from papers.cotmae_v2 import beir
from papers.cotmae_v2.encoders import DECODERS, VIEWS, first_version, second_version
from papers.cotmae_v2.marco import Marco
from papers.cotmae_v2.views import Views
from repro.errors import check_known
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe.request import Request

VERSIONS = (1, 2)


def retriever_row(
    request: Request,
    *,
    trained_views: Sequence[str] = VIEWS,
    decoders: Sequence[str] = DECODERS,
    views: Sequence[str] = VIEWS,
    size: int = 768,
) -> Node:
    """Rank with the retriever of stage two (Tables 1, 4 and 5).

    Args:
        trained_views, decoders: the views and decoders of pre-training (Table 4).
        views: the views of fine-tuning and search. If reading ablation-fine-tuning is ``matched``, both
            stages have only the views that are in both.
        size: the size of the dense vector, and the number of values kept of the sparse one (Table 5).
    """
    alike = set(trained_views) == set(views)
    if not alike and request.reading("ablation-fine-tuning") == "matched":
        trained_views = views = [view for view in trained_views if view in views]
    encoder = second_version(request, views=trained_views, decoders=decoders)
    marco = Marco.second_version(request, Views(request, tuple(views), size, size))
    return marco.run(marco.stage_two(encoder))


def distilled_row(request: Request) -> Node:
    """Rank with the retriever taught by the first version's re-ranker (Table 2)."""
    marco = Marco.second_version(request, Views(request))
    teacher = _teacher(request, request.reading("reranker-version"))
    return marco.run(marco.distilled(second_version(request), teacher=teacher))


def first_version_row(request: Request, *, distilled: bool = False) -> Node:
    """Rank with the first version, distilled or not (Tables 1 and 2)."""
    marco, encoder = Marco.first_version(request), first_version(request)
    if not distilled:
        own, system = marco.stage_two(encoder), request.reading("first-version-retriever")
        if system is None:
            return marco.run(own)
        return released.retriever(request, system=system, recall="recall-definition", stand_in=own)
    how = request.reading("first-version-teacher")
    teacher = _teacher(request, how["released"], regulariser=how["regulariser"])
    return marco.run(marco.distilled(encoder, teacher=teacher))


def beir_row(request: Request) -> Node:
    """Rank a collection of BEIR without training on it (Table 3)."""
    return beir.run(request, beir.trained(request, second_version(request, benchmark="beir")))


def seed_point(request: Request, *, version: int, seed: int) -> Node:
    """Rank after our own pre-training with ``seed``, which is 42 in the tables (Figure 3).

    reading: figure-3-baseline.
    """
    check_known("version of CoT-MAE", version, valid=VERSIONS)
    if version == 1:
        marco = Marco.first_version(request)
        encoder = first_version(request, seed=seed, reading="figure-3-baseline")
        return marco.run(marco.stage_two(encoder))
    marco = Marco.second_version(request, Views(request))
    return marco.run(marco.stage_two(second_version(request, seed=seed)))


def passages_shown(request: Request, *, version: int, queries: list[str]) -> Node:
    """Return the exhibit of the first passage that version 1 or 2 finds for each of ``queries`` (Table 6)."""
    check_known("version of CoT-MAE", version, valid=VERSIONS)
    run = first_version_row(request) if version == 1 else retriever_row(request)
    return recipe.top_passages(run, marco_passages(request), request.dataset, wanted=queries, depth=1)


def _teacher(request: Request, checkpoint: str | None, *, regulariser: str | None = None) -> Node:
    """Return the re-ranker with this public name, or the first version's trained here if the name is None
    (reading: reranker-training)."""
    own = Marco.first_version(request).reranker(first_version(request), regulariser=regulariser)
    return recipe.released_reranker_or(own, checkpoint)
