"""Recipes of the rows of tables (§4), e.g. ``tuned_row``."""

from papers.baselines import released
from papers.retromae.encoders import bert, condenser, general, in_domain
from papers.retromae.encoders import released as released_encoder
from papers.retromae.fine_tuning import FineTuning
from repro.errors import check_known
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe.request import Request

ENCODERS = {"bert": bert, "condenser": condenser, "retromae": general}
FULL_ONLY = "an encoder that others pre-trained is fine-tuned at full scale only"


def tuned_row(request: Request, *, encoder: str, negatives: str) -> Node:
    """Rank MS MARCO or Natural Questions after a fine-tuning (Tables 2 and 3).

    Args:
        encoder: ``bert``, ``condenser`` or ``retromae``.
        negatives: ``bm25`` or ``mined``.
    """
    check_known("encoder", encoder, valid=ENCODERS)
    tuning = FineTuning(request)
    return tuning.run(tuning.tuned(ENCODERS[encoder](request), negatives=negatives))


@recipe.full_only(FULL_ONLY)
def released_row(request: Request, *, encoder: str, negatives: str) -> Node:
    """Rank as ``tuned_row`` does, with a released encoder, a key of reading baseline-checkpoints (Tables 2
    and 3)."""
    tuning = FineTuning(request)
    return tuning.run(tuning.tuned(released_encoder(request, encoder), negatives=negatives))


def beir_row(request: Request, *, encoder: str) -> Node:
    """Rank a collection of BEIR after fine-tuning on MS MARCO (Table 1)."""
    check_known("encoder", encoder, valid=ENCODERS)
    tuning = FineTuning(request)
    return tuning.run(tuning.beir(ENCODERS[encoder](request)))


@recipe.full_only(FULL_ONLY)
def released_beir_row(request: Request, *, encoder: str) -> Node:
    """Rank as ``beir_row`` does, with a released encoder, a key of reading baseline-checkpoints (Table 1)."""
    tuning = FineTuning(request)
    return tuning.run(tuning.beir(released_encoder(request, encoder)))


def in_domain_row(request: Request) -> Node:
    """Rank MS MARCO by a retriever pre-trained on its passages and fine-tuned on mined negatives, or by a
    released one (Table 4, reading: msmarco-retriever)."""
    tuning = FineTuning(request)
    own, system = tuning.tuned(in_domain(request), negatives="mined"), request.reading("msmarco-retriever")
    if system is None:
        return tuning.run(own)
    return released.retriever(request, system=system, recall="recall-definition", stand_in=own)


def distilled_row(request: Request) -> Node:
    """Rank MS MARCO by the distilled retriever (Table 5)."""
    tuning = FineTuning(request)
    return tuning.run(tuning.distilled(in_domain(request)))


def ablation_row(
    request: Request,
    *,
    decoder: str = "enhanced",
    layers: int = 1,
    encoder_rate: float = 0.3,
    decoder_rate: float = 0.5,
) -> Node:
    """Rank after a pre-training with other values than those of §4.1, fine-tuned on BM25 negatives (Table
    6)."""
    rates = {"encoder_rate": encoder_rate, "decoder_rate": decoder_rate}
    encoder = general(request, decoder=decoder, layers=layers, **rates)
    tuning = FineTuning(request)
    return tuning.run(tuning.tuned(encoder, negatives="bm25"))
