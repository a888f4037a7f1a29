import json
import math

import pytest
import torch

from repro.errors import DataError, UsageError
from repro.retrieval.nn.checkpoint import load_encoder, load_masked_lm, save_model
from repro.retrieval.nn.multi_view_bi_encoder import MultiViewBiEncoder
from repro.retrieval.nn.view_encoder import load_view_encoder
from tests.floats import apart, close
from tests.retrieval.nn.parted_objectives import VIEWS
from tests.retrieval.nn.test_cosine_bi_encoder import EXAMPLES, side
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

POSITIONS = {"cls": False, "sep": False}
OPTIONS = {name: value for name, value in VIEWS.items() if name != "start"} | {
    "view_objective": "sum",
    "temperature": 1.0,
    "flops_weight": {"queries": 0.0, "passages": 0.0, "ramp_steps": 0},
    "distillation": None,
}
TEACHER = {"direction": "teacher-student", "contrastive_weight": 0.0, "teacher_temperature": 1.0}
WEIGHTS = {"queries": 0.5, "passages": 0.25, "ramp_steps": 0}
SCORED = [example | {"scores": [3.0 + n, 0.5, -2.0]} for n, example in enumerate(EXAMPLES)]
P = 3


def strong_model():
    """Weights so large that sparse vectors are neither empty nor alike."""
    model = tiny_masked_lm(dropout=0.0)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and "embeddings" not in name:
            parameter.data *= 6
    model.cls.predictions.bias.data -= 0.2
    return model


@pytest.fixture
def start(tmp_path):
    save_model(strong_model(), tiny_tokenizer(), tmp_path / "model")
    return tmp_path / "model"


def objective(start, kind=MultiViewBiEncoder, **changes):
    return kind(load_masked_lm(start).double(), tiny_tokenizer(), start=start, **OPTIONS | changes).double()


def text_vectors(made, inputs, *, k=20):
    found = {"dense": [], "sparse": []}
    model, tokenizer = made.encoder.model, made.tokenizer
    for ids, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True):
        ids = ids[mask.bool()]
        hidden = model.bert(ids.unsqueeze(0)).last_hidden_state[0]
        special = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        words = [place for place, token in enumerate(ids) if token not in special]
        logits = model.cls(hidden)[words].tolist()
        spr = [max(math.log1p(max(0.0, w[j])) for w in logits) for j in range(len(logits[0]))]
        kept = sorted(range(len(spr)), key=lambda j, spr=spr: (-spr[j], j))[:k]
        found["dense"].append(hidden[0].tolist())
        found["sparse"].append([value if j in kept else 0.0 for j, value in enumerate(spr)])
    return found


def similarity(a, b, how):
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot if how == "dot" else dot / math.hypot(*a) / math.hypot(*b)


def table(queries, passages, terms, how):
    return [
        [
            sum(similarity(queries[v][i], passages[v][n], how) for v in terms)
            for n in range(len(passages[terms[0]]))
        ]
        for i in range(len(queries[terms[0]]))
    ]


def equation_15(scores, *, tau, negatives):
    total = 0.0
    for i, row in enumerate(scores):
        others = [n for n in range(len(row)) if n != i * P and (negatives == "batch" or n // P == i)]
        positive = row[i * P] / tau
        below = math.exp(positive) + sum(math.exp(row[n] / tau) for n in others)
        total -= math.log(math.exp(positive) / below)
    return total / len(scores)


@pytest.mark.parametrize("terms", [["dense", "sparse"], ["sparse", "sparse"], ["dense"]])
@pytest.mark.parametrize("negatives", ["batch", "own"])
def test_the_loss_is_equation_15_of_equation_7_written_as_loops(start, terms, negatives):
    made = objective(start, hybrid_similarity=terms, in_batch_negatives=negatives, temperature=7.0)
    batch = made.collate(EXAMPLES)
    queries, passages = (text_vectors(made, side(batch, name)) for name in ("query_", "passage_"))
    scores = table(queries, passages, terms, "dot")
    losses = made(batch)
    assert set(losses) == {"contrastive"}
    expected = equation_15(scores, tau=7.0, negatives=negatives)
    close(losses["contrastive"], expected)


@pytest.mark.parametrize("how", ["dot", "cosine"])
def test_one_loss_on_the_sum_one_for_each_view_or_all(start, how):
    batch = objective(start).collate(EXAMPLES)
    queries, passages = (text_vectors(objective(start), side(batch, name)) for name in ("query_", "passage_"))
    rest = {"tau": 5.0, "negatives": "batch"}
    expected = {
        f"contrastive{suffix}": equation_15(table(queries, passages, terms, how), **rest)
        for suffix, terms in {"": ["dense", "sparse"], ".dense": ["dense"], ".sparse": ["sparse"]}.items()
    }
    parts = [".dense", ".sparse"]
    for name, losses in {"sum": [""], "separate": parts, "both": ["", *parts]}.items():
        found = objective(start, view_objective=name, similarity=how, temperature=5.0)(batch)
        assert set(found) == {f"contrastive{suffix}" for suffix in losses}
        for loss, value in found.items():
            close(value, expected[loss])


@pytest.mark.parametrize("direction", ["teacher-student", "student-teacher"])
def test_the_divergence_is_equation_16_over_each_querys_own_passages(start, direction):
    made = objective(
        start,
        temperature=4.0,
        distillation={"direction": direction, "contrastive_weight": 0.2, "teacher_temperature": 2.0},
    )
    batch = made.collate(SCORED)
    queries, passages = (text_vectors(made, side(batch, name)) for name in ("query_", "passage_"))
    expected = 0.0
    for i, row in enumerate(table(queries, passages, ["dense", "sparse"], "dot")):
        p, q = (
            [math.exp(value) / sum(map(math.exp, values)) for value in values]
            for values in ([s / 2.0 for s in SCORED[i]["scores"]], [d / 4.0 for d in row[i * P : i * P + P]])
        )
        p, q = (p, q) if direction == "teacher-student" else (q, p)
        expected += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)) / len(SCORED)
    losses = made(batch)
    close(losses["divergence"], expected, dtype="float32")
    alone = objective(start, temperature=4.0)(batch)["contrastive"].item()
    close(losses["contrastive"], 0.2 * alone)
    assert set(objective(start, distillation=TEACHER)(batch)) == {"divergence"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_flops_are_of_whole_or_of_truncated_vectors(start, when):
    made = objective(start, flops_weight=WEIGHTS, flops_vectors=when, top_k=5)
    batch = made.collate(EXAMPLES)
    losses = made(batch)
    for name, weight in {"queries": 0.5, "passages": 0.25}.items():
        prefix = {"queries": "query_", "passages": "passage_"}[name]
        rows = text_vectors(made, side(batch, prefix), k=5 if when == "after" else 1000)["sparse"]
        expected = weight * sum((sum(c) / len(rows)) ** 2 for c in zip(*rows, strict=True))
        close(losses[f"flops.{name}"], expected)


@pytest.mark.parametrize("shares", [1, 2, len(EXAMPLES)])
def test_flops_of_shares_are_the_mean_of_each_ones_own(start, shares):
    made = objective(start, flops_weight=WEIGHTS | {"shares": shares})
    batch = made.collate(EXAMPLES)
    losses, whole = made(batch), objective(start, flops_weight=WEIGHTS)(batch)
    for name, weight in {"queries": 0.5, "passages": 0.25}.items():
        prefix = {"queries": "query_", "passages": "passage_"}[name]
        rows = text_vectors(made, side(batch, prefix), k=1000)["sparse"]
        size, total = -(-len(rows) // shares), 0.0
        own = [rows[first : first + size] for first in range(0, len(rows), size)]
        for share in own:
            total += sum((sum(c) / len(share)) ** 2 for c in zip(*share, strict=True)) / len(own)
        close(losses[f"flops.{name}"], weight * total)
        assert (losses[f"flops.{name}"] > whole[f"flops.{name}"] * 1.01) == (shares > 1)


def test_the_ramp_is_quadratic_in_the_step_and_goes_on_where_a_checkpoint_was(start):
    made = objective(start, flops_weight=WEIGHTS | {"ramp_steps": 4})
    batch = made.collate(EXAMPLES)
    full = objective(start, flops_weight=WEIGHTS)(batch)["flops.queries"].item()
    found = [made(batch)["flops.queries"].item() / full for _ in range(3)]
    close(found, [1 / 16, 4 / 16, 9 / 16])
    made.eval()
    close(made(batch)["flops.queries"].item() / full, 9 / 16)
    resumed = objective(start, flops_weight=WEIGHTS | {"ramp_steps": 4})
    resumed.load_state_dict(made.state_dict())
    again = [resumed(batch)["flops.queries"].item() / full for _ in range(2)]
    close(again, [1, 1])


def test_a_side_is_truncated_only_if_asked(start):
    truncation = {"after": "saturation", "queries": False, "passages": True}
    made = objective(start, top_k=4, sparse_truncation=truncation)
    batch = made.collate(EXAMPLES)
    for name, most in {"queries": None, "passages": 4}.items():
        whole = made.encoded(batch, name)
        kept = (made.truncated(whole, name)["sparse"] != 0).sum(dim=1)
        assert ((kept == most) if most else (kept > 4)).all()


@pytest.mark.parametrize("by", ["linear", "truncate"])
def test_a_reduced_dense_vector_is_saved_loaded_and_trained_on(start, tmp_path, by):
    reduction = {"to": 10, "by": by}
    torch.manual_seed(4)
    made = objective(start, dense_reduction=reduction, vocabulary_head="plain")
    inputs = side(made.collate(EXAMPLES), "query_")
    expected = made.float().eval().encoder(inputs)
    assert expected["dense"].shape == (4, 10)
    made.save(tmp_path / "saved")
    how = {"sparse_positions": POSITIONS, "vocabulary_head": "plain"}
    loaded = load_view_encoder(tmp_path / "saved", views=["dense", "sparse"], **how).eval()
    for name, vectors in loaded(inputs).items():
        assert torch.equal(vectors, expected[name])
    hidden = load_encoder(start)(**inputs).last_hidden_state
    if by == "truncate":
        close(expected["dense"], hidden[:, 0, :10])
    else:
        weight = made.encoder.projection.weight.detach()
        close(expected["dense"].detach(), hidden[:, 0].detach() @ weight.T)
        again = objective(tmp_path / "saved", dense_reduction=reduction).encoder.projection.weight
        assert torch.equal(again.float(), made.encoder.projection.weight)
        other = objective(tmp_path / "saved", dense_reduction=reduction | {"to": 9})
        assert other.encoder.projection.weight.shape == (9, 32)
        (tmp_path / "saved/dense_projection.safetensors").unlink()
        with pytest.raises(DataError, match=r"dense_projection.safetensors is missing"):
            load_view_encoder(tmp_path / "saved", views=["dense"], **how)


def test_the_plain_head_is_the_embeddings_and_the_bias_alone(start):
    made = objective(start, vocabulary_head="plain")
    hidden = torch.randn(2, 3, 32, dtype=torch.float64)
    output = made.encoder.model.cls.predictions.decoder
    embeddings = made.encoder.model.bert.embeddings.word_embeddings.weight
    close(made.encoder.logits(hidden), hidden @ embeddings.T + output.bias)
    apart(objective(start).encoder.logits(hidden), made.encoder.logits(hidden))


def test_one_view_alone_makes_the_other_neither_loss_nor_vectors(start):
    batch = objective(start).collate(EXAMPLES)
    for view in ("dense", "sparse"):
        made = objective(start, views=[view], hybrid_similarity=[view], flops_weight=WEIGHTS)
        assert set(made.encoded(batch, "queries")) == {view}
        flops = {"flops.queries", "flops.passages"} if view == "sparse" else set()
        assert set(made(batch)) == {"contrastive"} | flops


def test_what_was_saved_says_how_to_encode_and_contradicting_it_is_refused(start, tmp_path):
    objective(start, views=["sparse"], hybrid_similarity=["sparse"]).float().save(tmp_path / "saved")
    about = json.loads((tmp_path / "saved/views.json").read_text())
    assert about == {
        "views": ["sparse"],
        "sparse_positions": POSITIONS,
        "vocabulary_head": "transform",
        "dense_reduction": None,
    }
    how = {"sparse_positions": POSITIONS, "vocabulary_head": "transform"}
    load_view_encoder(tmp_path / "saved", views=["sparse"], **how)
    with pytest.raises(UsageError, match="'dense' is not a known view that the model was trained for"):
        load_view_encoder(tmp_path / "saved", views=["dense"], **how)
    with pytest.raises(UsageError, match="trained with vocabulary_head 'transform', not 'plain'"):
        load_view_encoder(tmp_path / "saved", views=["sparse"], **how | {"vocabulary_head": "plain"})
    load_view_encoder(start, views=["sparse"], **how | {"vocabulary_head": "plain"})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"views": ["dense", "sparse", "colour"]}, "'colour' is not a known view"),
        ({"views": ["dense"]}, "'sparse' is not a known term of the similarity"),
        ({"contrastive_denominator": "sum"}, "'sum' is not a known denominator"),
        ({"vocabulary_head": "none"}, "'none' is not a known vocabulary head"),
        ({"dense_reduction": {"to": 8, "by": "pca"}}, "'pca' is not a known reduction of the dense vector"),
        ({"distillation": TEACHER | {"direction": "sideways"}}, "'sideways' is not a known direction"),
        ({"sparse_truncation": {"after": "logits"}}, "'logits' is not a known step before truncation"),
    ],
)
def test_what_is_not_known_is_refused(start, changes, said):
    with pytest.raises(UsageError, match=said):
        objective(start, **changes)


def test_examples_without_scores_cannot_be_distilled(start):
    with pytest.raises(DataError, match="no scores to distil"):
        objective(start, distillation=TEACHER).collate(EXAMPLES)
