"""The recipes of the tables' and figures' rows (§4.5, §5.3-5.5, and the released fine-tuning scripts)."""

from typing import Any

from papers.baselines.encoders import BASELINES
from papers.baselines.function_words import stop_words
from papers.baselines.ms_marco import FineTuning
from papers.baselines.wikipedia import masking, pretrained
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective
from repro.retrieval.recipe.request import Request, Runs

COSTA = Objective(
    "costa",
    1,
    "papers.costa.contrastive_spans:ContrastiveSpans",
    "contrastive_input=masked|clean resample=once|epoch start=inclusive|printed short_text=clip|drop "
    "similarity=dot|cosine reduction=mean|sum span_unit=pieces|words stop_words_left_out=before|after",
    token_lengths=("span_tokens",),
)
LENGTHS = {"query": 32, "passage": 128}  # §4.5.2
SPANS = {"word": 5, "phrase": 5, "sentence": 5, "paragraph": 5}  # §4.5.1: 5 spans for each granularity
# τ, §4.5.1; the ablations of §5.3 take theirs from reading ablation-temperature, Table 7 from its rows
TEMPERATURE = 0.1
FEW_SPANS = dict.fromkeys(SPANS, 3)  # §5.3
GRID = [(batch, rate) for batch in (4, 8, 16) for rate in (5e-6, 1e-5)]  # §5.5


def passage_row(request: Request, *, encoder: str, strategy: str) -> Node:
    """Rank passages with an encoder fine-tuned in one stage or two (§4.5.2, Tables 1 and 3).

    Args:
        encoder: ``costa`` or a key of BASELINES, e.g. ``seed``.
        strategy: ``bm25_negatives`` (one stage) or ``static_hard_negatives`` (two).
    """
    tuning, start = _tuning(request, encoder), _encoder(request, encoder)
    model = tuning.warm_up(start) if strategy == "bm25_negatives" else tuning.passage_model(start)
    return tuning.run(model)


def reference_row(request: Request, *, fine_tuned: bool) -> Node:
    """Rank passages with a BERT with random weights, as it is or fine-tuned on the official BM25 negatives.
    The paper has no such row.
    """
    tuning = _tuning(request, "bert")
    start = recipe.random_weights("bert-base-uncased", revision="main", seed=request.seed_or(42))
    return tuning.run(tuning.warm_up(start) if fine_tuned else start)


def document_row(request: Request, *, encoder: str, iteration: int) -> Node:
    """Rank documents after ``iteration`` rounds of mining, one or two (§4.5.2, Table 2)."""
    tuning = _tuning(request, encoder)
    return tuning.run(tuning.document_model(_encoder(request, encoder), iteration=iteration))


def ablation_row(
    request: Request,
    *,
    spans: dict[str, int] | None = None,
    temperature: float | None = None,
    projector: str = "nonlinear",
    phase: str | None = None,
) -> Node:
    """Rank passages after three epochs with three spans of each kind, fine-tuned on BM25 negatives only, with
    one change (§5.3, Tables 4-7).

    Args:
        spans: the number of spans of each kind, by default three (Tables 4 and 5).
        temperature: τ of Eq. 8 (Table 7), by default from reading ablation-temperature.
        projector: nonlinear, linear or none (Table 6).
        phase: where ``projector`` is used (Table 6). ``pre-training``: only there, and fine-tuning has
            none. ``fine-tuning``: only there, after a pre-training with the nonlinear one. None: in
            pre-training, and reading fine-tuning-projector decides on fine-tuning.
    """
    if temperature is None:
        temperature = request.reading("ablation-temperature")
    if phase == "pre-training":
        trained, kept = projector, "none"
    elif phase == "fine-tuning":
        trained, kept = "nonlinear", projector
    else:
        assert phase is None, phase
        trained, kept = projector, None
    encoder = costa(request, spans=spans or FEW_SPANS, temperature=temperature, projector=trained, epochs=3)
    head = _head(request, kept or request.reading("fine-tuning-projector"))
    tuning = FineTuning(request, LENGTHS, warm_up_epochs=3, head=head)
    return tuning.run(tuning.warm_up(encoder))


def few_queries(request: Request, *, encoder: str, queries: int) -> Runs:
    """Rank after fine-tuning on three samples of the queries, at every point of a grid (§5.5, Figure 4).

    The cell is the mean over all points, or the mean of the best point, selected on the figure's own queries
    (reading: low-resource-selection).
    """
    tuning, start = _tuning(request, encoder), _encoder(request, encoder)

    def run(sample: int, batch: int, rate: float) -> Node:
        few = tuning.few_passages(start, queries=queries, sample=sample, batch=batch, learning_rate=rate)
        return tuning.run(few)

    groups = tuple(tuple(run(sample, *point) for sample in range(3)) for point in GRID)
    if request.reading("low-resource-selection") == "max":
        return Runs(groups)
    return Runs((Runs(groups).all,))


def candidates_map(request: Request, *, encoder: str) -> Node:
    """Return the exhibit of a query and its 100 candidates as points in a plane, after fine-tuning on 1,000
    queries (Figure 3)."""
    dataset = "msmarco-passage/trec-dl-2019/judged"  # reading: figure-3-query
    request = Request(dataset, request.choices, request.seed)
    tuning = _tuning(request, encoder)
    ask, start = request.reading, _encoder(request, encoder)
    model = tuning.few_passages(
        start, queries=1000, sample=ask("figure-3-sample"), **ask("figure-3-training")
    )
    run = tuning.passages().search(model, dataset, depth=1000)
    passages, topics = run.input("passages"), run.input("queries")
    if ask("figure-3-candidates") != "own":
        documents = recipe.corpus("msmarco-passage")
        run = recipe.bm25(documents, recipe.queries(dataset), **ask("bm25-parameters"), depth=1000)
    shown = {"query": "47923", "candidates": 100, "grade": ask("trec-recall-grade")["passage"]}
    return recipe.project(passages, topics, run, recipe.qrels(dataset), **shown, **ask("t-sne-settings"))


def costa(
    request: Request, *, spans: dict[str, int], temperature: float, projector: str, epochs: int
) -> Node:
    """Pre-train COSTA from BERT's weights on chunks of 512 tokens of Wikipedia (§3.2-3.3, §4.5.1)."""
    options, batch = _options(request, spans, temperature, projector), request.reading("pretraining-batch")
    return pretrained(request, COSTA, options, texts_per_batch=batch, epochs=epochs, length=512)


def _encoder(request: Request, name: str) -> Node:
    if name != "costa":
        return BASELINES[name](request)
    own = costa(request, spans=SPANS, temperature=TEMPERATURE, projector="nonlinear", epochs=6)
    return recipe.released_or(own, request.reading("encoder-source"))


def _tuning(request: Request, encoder: str) -> FineTuning:
    # Only COSTA is pre-trained with a projector that could be kept.
    kept = request.reading("fine-tuning-projector") if encoder == "costa" else "none"
    lengths = LENGTHS
    if request.collection == "msmarco-document":
        lengths = LENGTHS | {"document": request.reading("document-length")}
    return FineTuning(request, lengths, warm_up_epochs=3, head=_head(request, kept))


def _head(request: Request, projector: str) -> dict[str, str]:
    start = "new" if projector == "none" else request.reading("fine-tuning-projector-start")
    return {"projector": projector, "projector_start": start}


def _options(request: Request, spans: dict[str, int], temperature: float, projector: str) -> dict[str, Any]:
    return {
        "temperature": temperature,  # τ of Eq. 8
        "weight": _weight(request, temperature),
        "spans": spans,
        "span_tokens": {"phrase": [4, 16], "sentence": [16, 64], "paragraph": [64, 128]},
        "beta": [4, 2],
        "rounding": request.reading("span-length-rounding"),
        "spans_reach_sep": request.reading("span-special-tokens"),
        "projector": projector,  # Eq. 5
        "projector_layers": request.reading("projector-layers"),
        "contrastive_input": request.reading("contrastive-input"),
        "resample": request.reading("span-resampling"),
        "start": request.reading("span-start"),
        "short_text": request.reading("short-text"),
        "similarity": request.reading("span-similarity"),
        "reduction": request.reading("loss-reduction"),
        "masking": masking(request),
        "mlm_head": request.reading("mlm-head"),
        "stop_words": stop_words(request),
        **request.reading("span-unit"),
        **request.reading("stop-words-left-out"),
    }


def _weight(request: Request, temperature: float) -> float:
    """Return λ of the total loss (§4.5.1), multiplied by τ / base temperature if reading
    contrastive-loss-scale gives one."""
    base = request.reading("contrastive-loss-scale")
    return 0.1 if base is None else 0.1 * temperature / base
