"""One text, one number of tokens, one optimiser, one fine-tuning. Only the pre-training objective differs.

Every paper's objective comes with its own options under the default readings. The common settings are
stated here once, and no paper prescribes them.
"""

from dataclasses import replace
from typing import Any

from papers.baselines.ms_marco import CONTRASTIVE, NO_PROJECTOR, OFFICIAL_NEGATIVES, PASSAGES
from papers.baselines.two_stage import Dense, TwoStage, cls_texts
from repro.errors import UsageError, check_known
from repro.graph import Node
from repro.manifest.papers import home, load
from repro.retrieval import recipe
from repro.retrieval.recipe import Optimisation
from repro.retrieval.recipe.request import Choices, Request

MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1}
CHECKPOINT = "bert-base-uncased"
LENGTH, ROWS, STEPS = 512, 64, 60_000  # 64 texts x 512 tokens x 60,000 steps = 2.0 G tokens
PRETRAINING = Optimisation(
    batch_size=ROWS,
    max_steps=STEPS,
    learning_rate=5e-5,
    warmup_ratio=0.1,
    schedule="linear",
    weight_decay=0.01,
    max_grad_norm=1.0,
    precision="fp16",
    seed=42,
)
EPOCHS = 3
FINE_TUNING = replace(PRETRAINING, batch_size=16, epochs=EPOCHS, max_steps=None, learning_rate=1e-5)
TUNING_STEPS = 94_302  # EPOCHS x 31,434 batches of 16 of the 502,939 training queries
LENGTHS = {"query": 32, "passage": 144}
FOREIGN_LENGTHS = {"query": 64, "passage": 256}  # questions and abstracts of the zero-shot sets
NEGATIVES_PER_QUERY = 30
PASSAGES_PER_QUERY = 4  # a positive and three of its negatives
DEPTH = 1000


def row(
    request: Request,
    *,
    encoder: str | None = None,
    options: dict[str, Any] | None = None,
    readings: dict[str, str] | None = None,
    texts_per_row: int = 1,
    random_weights: bool = False,
    layers: int | None = None,
    pooling: str = "cls",
    fine_tuned: bool = True,
    steps: float = 1,
    share: float = 0.1,
    tuning_steps: float = 0.3,
    hard_negatives: bool = True,
) -> Node:
    """Rank by an encoder after one pre-training, repeated on the common text, and the common fine-tuning.

    Args:
        encoder, options: ``module:function`` of a paper's pre-training, and its arguments. None leaves out
            pre-training.
        readings: reading id -> choice, where that paper's default is not used.
        texts_per_row: texts of full length that encoder and decoders read per example. It divides the
            batches, so all pre-trainings see as many tokens.
        random_weights: start from new random weights, optionally with this number of ``layers``.
        pooling: how token vectors are pooled: ``cls``, or ``mean`` for a bag of word vectors.
        fine_tuned: whether the encoder is fine-tuned.
        steps: multiple of the common number of pre-training steps.
        share: share of the training queries, drawn anew for every seed.
        tuning_steps: multiple of the number of fine-tuning steps on all queries.
        hard_negatives: whether a query has BM25's negatives in addition to the passages of other queries.
    """
    seed = request.seed_or(42)
    model = bert()
    if random_weights:
        model = recipe.random_weights(CHECKPOINT, revision="main", seed=seed, layers=layers)
    if encoder:
        made = papers_own(request, encoder, options or {}, readings=readings)
        how = replace(PRETRAINING, max_steps=round(STEPS * steps))
        model = at_equal_tokens(made, texts_per_row=texts_per_row, seed=seed, optimisation=how)
    if fine_tuned:
        negatives = _negatives(seed, share)
        stages = _stages(recipe.corpus("msmarco-passage"), LENGTHS, pooling, hard_negatives)
        model = stages.tuned(model, negatives, replace(_fine_tuning(share, tuning_steps), seed=seed))
    return _run(request, model, pooling)


def bm25(request: Request) -> Node:
    """Rank by Lucene's BM25 with k1 = 0.9 and b = 0.4. Collections other than MS MARCO passages have titles
    and texts as two fields."""
    documents, topics = recipe.corpus(request.collection), recipe.queries(request.dataset)
    has_titles = not request.collection.startswith("msmarco-passage")
    return recipe.bm25(documents, topics, k1=0.9, b=0.4, multifield=has_titles, depth=DEPTH)


def bert() -> Node:
    """Return the checkpoint that every pre-training starts from."""
    return recipe.backbone(CHECKPOINT, revision="main")


def masked_language_model(request: Request) -> Node:
    """Return BERT trained further by MLM, its own objective."""
    options = {"masking": MASKING, "reduction": "mean"}
    return recipe.pretrain(_chunks(bert()), objective=recipe.MLM, options=options, optimisation=PRETRAINING)


def at_equal_tokens(
    made: Node,
    *,
    texts_per_row: int,
    seed: int,
    start: Node | None = None,
    optimisation: Optimisation = PRETRAINING,
) -> Node:
    """Return a paper's pre-training with its objective and options, on the common text and schedule.

    Args:
        made: the node of the paper's pre-training.
        texts_per_row: the divisor of the batch size, see ``row``.
        start: the model that the pre-training starts from, by default ``bert``.
    """
    start = start or bert()
    tokens, how = _chunks(start), made.input("tokens").params
    if how["policy"] == "spans":  # an objective that draws its texts from whole documents
        tokens = recipe.tokenize_spans(
            recipe.corpus("wikipedia"),
            model=start,
            length=LENGTH,
            splitter=how["splitter"],
            packing=how["span_packing"],
            fields=["title", "body"],
            seed=how["seed"],
        )
    optimisation = replace(optimisation, batch_size=ROWS // texts_per_row, seed=seed)
    return recipe.pretrained_like(made, tokens=tokens, optimisation=optimisation)


def _chunks(model: Node) -> Node:
    return recipe.tokenize(
        recipe.corpus("wikipedia"), model=model, length=LENGTH, policy="chunk", titles=True, separator=" "
    )


def papers_own(
    request: Request, encoder: str, options: dict[str, Any], *, readings: dict[str, str] | None = None
) -> Node:
    """Return the node of a paper's pre-training, never of a released checkpoint. ``readings`` are its choices
    by id, by default those of its folder. Raises UsageError if ``encoder`` is not in a paper's folder, or for
    an unknown reading."""
    asked, source = request.choices, home(encoder)
    if source is None:
        raise UsageError(f"{encoder} is not in the folder of a paper. Give e.g. papers.costa.recipes:costa.")
    own = source.readings
    check_known("reading", *(readings or {}), valid=own)
    choices = Choices(
        own,
        readings or {},
        data=asked.data,
        originals_only=asked.originals_only,
        missing=asked.missing,  # of the cell that is asked for
        substitutes=asked.substitutes,
    )
    made = load(encoder)(Request(request.dataset, choices), **options)
    return made.inputs.get("stand_in", made) if made.stage == "backbone" else made


def _negatives(seed: int, share: float) -> Node:
    every = recipe.official_negatives(
        OFFICIAL_NEGATIVES, per_query=NEGATIVES_PER_QUERY, seed=seed, judgements=recipe.qrels(PASSAGES)
    )
    return every if share == 1 else recipe.sample(every, share=share, sample=0, method="random", seed=seed)


def _fine_tuning(share: float, tuning_steps: float) -> Optimisation:
    if share == tuning_steps == 1:
        return FINE_TUNING
    epochs = round(EPOCHS * tuning_steps / share, 6)
    return replace(FINE_TUNING, epochs=epochs, max_steps=round(TUNING_STEPS * tuning_steps))


def _run(request: Request, model: Node, pooling: str) -> Node:
    lengths = LENGTHS if request.collection == "msmarco-passage" else FOREIGN_LENGTHS
    stages = _stages(recipe.corpus(request.collection), lengths, pooling)
    return stages.search(model, request.dataset, depth=DEPTH)


def _stages(documents: Node, lengths: dict[str, int], pooling: str, hard_negatives: bool = True) -> TwoStage:
    return TwoStage(
        train=PASSAGES,
        texts=replace(cls_texts(documents, PASSAGES, separator="[SEP]", **lengths), pooling=pooling),
        representation=Dense(normalize=False, precision="fp16", numbers="float32"),
        objective=CONTRASTIVE,
        options={"temperature": 1.0, "similarity": "dot", "negatives": "in-batch", **NO_PROJECTOR},
        passages_per_query=PASSAGES_PER_QUERY if hard_negatives else 1,
    )
