"""Recipes of the rows of tables (§4.1.3, §4.3, §4.4), e.g. ``ranking_row``."""

from typing import Any

from papers.baselines.encoders import BASELINES
from papers.baselines.ms_marco import FineTuning
from papers.baselines.wikipedia import masking, pretrained
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective
from repro.retrieval.recipe.request import Request, Runs

CPDAE = Objective(
    "cpdae",
    1,
    "papers.cpdae.discriminative_autoencoder:DiscriminativeAutoencoder",
    "mlm_reduction=mean|sum second_term=binary|printed target=original|masked "
    "reconstruction_reduction=sum|mean contrast=distribution|representation|none direction=both|first "
    "contrast_reduction=mean|sum normalisation=sum|softmax similarity=dot|cosine",
    passes={"encoders": 2, "heads": 0.3},  # both versions of a text, masked at BERT's rate
)
WORD_DISTRIBUTION = Objective("word-distribution", 1, "papers.cpdae.word_distribution:view")


def ranking_row(request: Request, *, encoder: str) -> Node:
    """Rank with ``encoder``, a key of ENCODERS or BASELINES, after fine-tuning: on static hard negatives for
    passages, in two rounds of mining for documents (§4.1.3, Tables 1 and 2)."""
    tuning, start = _tuning(request), _encoder(request, encoder)
    if request.collection == "msmarco-document":
        return tuning.run(tuning.document_model(start, iteration=2))
    return tuning.run(tuning.passage_model(start))


def few_queries_row(request: Request, *, encoder: str, queries: int) -> Runs:
    """Rank after fine-tuning on each of three samples of ``queries`` training queries. The cell is the mean
    of the three (§4.4, Table 3)."""
    tuning, start = _tuning(request), _encoder(request, encoder)
    documents = request.collection == "msmarco-document"
    train = tuning.few_documents if documents else tuning.few_passages
    return Runs((tuple(tuning.run(train(start, queries=queries, sample=n)) for n in range(3)),))


def shaded_words(request: Request) -> Node:
    """Return an exhibit, the words of an article shaded by the decoder's predictions (§4.4, Table 4, reading:
    visualised-text)."""
    options = {"shown": request.reading("visualised-distribution")}
    article = {**request.reading("visualised-text"), "length": request.reading("pretraining-length")}
    model, documents = cpdae(request), recipe.corpus("wikipedia")
    return recipe.inspect_text(model, documents, view=WORD_DISTRIBUTION, options=options, **article)


def cpdae(request: Request, *, contrast: str = "distribution", idf: bool = False) -> Node:
    """Pre-train CPDAE on Wikipedia for three epochs of batches of 64 (§3, §4.1.3).

    Args:
        contrast: distribution (Eq. 5), representation (the variant CPDAE_R) or none (§4.3).
        idf: whether the reconstruction is weighted by idf (§4.3, IDF-REC).
    """
    options = _options(request) | _contrast(request, contrast)
    options["idf"] = request.reading("idf-weights") if idf else None
    how = {"texts_per_batch": 64, "epochs": 3, "length": request.reading("pretraining-length")}
    return pretrained(request, CPDAE, options, counts=idf, **how)


ENCODERS = {
    "cpdae": cpdae,
    "cpdae-r": lambda request: cpdae(request, contrast="representation"),
    "without-contrast": lambda request: cpdae(request, contrast="none"),
    "idf-rec": lambda request: cpdae(request, contrast=request.reading("idf-contrast"), idf=True),
}


def _encoder(request: Request, name: str) -> Node:
    return (ENCODERS | BASELINES)[name](request)


def _tuning(request: Request) -> FineTuning:
    lengths = request.reading("fine-tuning-lengths")
    return FineTuning(request, lengths, warm_up_epochs=request.reading("warm-up-epochs"))


def _options(request: Request) -> dict[str, Any]:
    return {
        "masking": masking(request),
        "mlm_head": request.reading("mlm-head"),
        "mlm_reduction": request.reading("mlm-reduction"),
        "decoder": request.reading("decoder-layers"),
        "decoder_start": request.reading("decoder-start"),
        "second_term": request.reading("reconstruction-second-term"),  # Eq. 4
        "target": request.reading("reconstruction-target"),
        "special_tokens": request.reading("reconstruction-special-tokens"),
        "reconstruction_reduction": request.reading("reconstruction-reduction"),
        "versions": request.reading("masked-versions"),
    }


def _contrast(request: Request, contrast: str) -> dict[str, Any]:
    """Return options of the contrastive loss (Eq. 5) and its λ (Eq. 6)."""
    if contrast == "none":
        options = {"contrast": "none", "weight": 0.0, "direction": "both", "contrast_reduction": "mean"}
        scale = {"temperature": 1.0, "divergence_scale": 1.0, "normalisation": "sum"}
        return options | scale | {"similarity": "dot"}
    ask = request.reading
    options = {"contrast": contrast, "direction": ask("contrastive-direction")}
    options["contrast_reduction"] = ask("contrastive-reduction")
    if contrast == "representation":
        weight = ask("representation-loss-weight")
        options |= ask("representation-similarity")
        return options | {"weight": weight, "divergence_scale": 1.0, "normalisation": "sum"}
    return options | {
        "weight": 0.1,
        "temperature": ask("contrastive-temperature"),
        "similarity": "dot",
        "divergence_scale": ask("divergence-scale"),
        "normalisation": ask("distribution-normalisation"),
    }
