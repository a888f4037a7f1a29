"""Pre-training of RetroMAE, on general text and on the domain's, and its baselines (§3, §4.1)."""

from typing import Any

from papers.baselines.encoders import CONDENSER
from papers.baselines.two_stage import marco_passages
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Optimisation
from repro.retrieval.recipe.request import Request

RETROMAE = Objective(
    "retromae",
    1,
    "papers.retromae.masked_autoencoder:MaskedAutoEncoder",
    "decoder=enhanced|basic unit=whole-word|bernoulli",
    passes={"encoders": 1, "layers": 1, "heads": 1.3},
)
ENCODER_RATE, DECODER_RATE = 0.3, 0.5  # §4.1
LENGTH = 512  # the released preprocessing's


def bert(request: Request) -> Node:
    """Return BERT_base, the start of every pre-training (§4.1)."""
    return recipe.backbone(request.reading("baseline-checkpoints")["bert"], revision="main")


def general(
    request: Request,
    *,
    decoder: str = "enhanced",
    layers: int = 1,
    encoder_rate: float = ENCODER_RATE,
    decoder_rate: float = DECODER_RATE,
) -> Node:
    """Pre-train RetroMAE on Wikipedia and BookCorpus, for 8 epochs at 1e-4 (§4.1).

    Args:
        decoder, layers, encoder_rate, decoder_rate: values that differ from §4.1 in Table 6.
    """
    rates = {"encoder_rate": encoder_rate, "decoder_rate": decoder_rate}
    options = _options(request) | rates | {"decoder": decoder, "decoder_layers": layers}
    own = _pretrained(request, RETROMAE, options)
    plain = (decoder, layers, encoder_rate, decoder_rate) == ("enhanced", 1, ENCODER_RATE, DECODER_RATE)
    return recipe.released_or(own, request.reading("pretrained-model")["general"] if plain else None)


def in_domain(request: Request) -> Node:
    """Pre-train RetroMAE on MS MARCO's passages (§4.1, Tables 4 and 5, reading: in-domain-pretraining)."""
    read = dict(request.reading("in-domain-pretraining"))
    start = general(request) if read.pop("from") == "general" else bert(request)
    tokens = recipe.tokenize(
        marco_passages(request),
        model=start,
        length=read.pop("length"),
        policy=request.reading("text-packing"),
        titles=True,
        separator=" ",
    )
    rates = {"encoder_rate": ENCODER_RATE, "decoder_rate": DECODER_RATE}
    options = _options(request) | rates | {"decoder": "enhanced", "decoder_layers": 1}
    how = _optimisation(request, **read)
    own = recipe.pretrain(tokens, objective=RETROMAE, options=options, optimisation=how)
    return recipe.released_or(own, request.reading("pretrained-model")["msmarco"])


def condenser(request: Request) -> Node:
    """Return Condenser's released encoder, or below full scale one trained here (reading:
    condenser-options)."""
    own = _pretrained(request, CONDENSER, request.reading("condenser-options"))
    name = request.reading("baseline-checkpoints")["condenser"]
    return recipe.backbone(name, revision="main", stand_in=own)


def released(request: Request, name: str) -> Node:
    """Return one of the released encoders that Tables 1 to 3 compare with (reading: baseline-checkpoints)."""
    return recipe.backbone(request.reading("baseline-checkpoints")[name], revision="main")


def _options(request: Request) -> dict[str, Any]:
    ask = request.reading
    return {
        "unit": ask("masking-unit"),
        "masking": ask("masked-tokens"),
        "contexts": ask("decoder-contexts"),
    }


def _pretrained(request: Request, objective: Objective, options: dict[str, Any]) -> Node:
    """Return BERT trained further on Wikipedia and BookCorpus, with 32 texts on each of 8 GPUs (§4.1)."""
    ask = request.reading
    corpus = {"original": "wikipedia-bookcorpus", "without": "wikipedia"}[ask("bookcorpus")]
    tokens = recipe.tokenize(
        recipe.corpus(corpus),
        model=bert(request),
        length=LENGTH,
        policy=ask("text-packing"),
        titles=False,
        separator=" ",
    )
    how = _optimisation(request, texts_per_batch=256, epochs=8)  # 32 texts x 8 GPUs
    return recipe.pretrain(tokens, objective=objective, options=options, optimisation=how)


def _optimisation(request: Request, *, texts_per_batch: int, epochs: int) -> Optimisation:
    ask = request.reading
    return Optimisation(
        batch_size=texts_per_batch,
        epochs=epochs,
        learning_rate=1e-4,
        schedule="linear",
        **ask("pretraining-optimiser"),
        precision=ask("precision"),
        seed=ask("pretraining-seed"),
    )
