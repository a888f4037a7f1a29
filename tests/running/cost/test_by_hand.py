"""Hours of five stages, computed from the papers' numbers without the code of the plan."""

from math import ceil

import pytest

from repro.running.cost.estimate import assumed_throughput
from repro.running.cost.work import Batching, work

PEAK = 989e12
MARCO = 56 * 1.35 + 2  # tokens of a passage of MS MARCO
BERT, VOCABULARY = 12 * (4 * 768**2 + 2 * 768 * 3072), 2 * 768 * 30522
GENERATOR = 12 * (4 * 256**2 + 2 * 256 * 1024)


def forward(length, weights=BERT, width=768):
    return length * (2 * weights + 4 * 12 * width * length)


def simlm_operations(read):
    """80,000 steps of 2,048 passages; the frozen generator, 12 layers of 256, reads each twice."""
    decoder = 2 / 12 * forward(144)  # with padding
    trained = 3 * (forward(read) + decoder + 2 * MARCO * VOCABULARY)
    return 80_000 * 2048 * (trained + 2 * forward(read, GENERATOR, 256) + 0.8 * MARCO * 2 * 256 * 30522)


def simlm():
    return [simlm_operations(MARCO) / (0.049 * 1.1 * PEAK)] * 2


def simlm_on_v100():
    return [simlm_operations(144) / (share * 125e12) for share in (0.27, 0.15)]


def contextual():
    """50,000 steps of 16,384 spans of 144 tokens, four layers of decoders, 4.5 heads."""
    each = 3 * ((1 + 4 / 12) * forward(144) + 4.5 * 144 * VOCABULARY)
    return [50_000 * 16_384 * each / (0.123 * PEAK)] * 2


def costa():
    """Six epochs of 2.5 billion words in chunks of 512 tokens, 15 % of them predicted."""
    texts = 64 * ceil(6 * ceil(ceil(2.5e9 * 1.35 / 510) / 64))
    whole = texts * 3 * (forward(512) + 0.15 * 512 * VOCABULARY)
    return [whole / (share * PEAK) for share in (0.123, 0.049)]


def fine_tuning():
    """Three epochs of 502,939 queries with eight passages of 77.6 tokens, eight queries a step."""
    steps = 3 * ceil(502_939 / 8)
    operations = steps * 8 * 3 * (forward(10 * 1.35 + 2) + 8 * forward(MARCO)) / (0.115 * 1.33 * PEAK)
    return [max(operations, steps * 24 * layer) for layer in (0.00034, 0.0027)]


def encoding():
    return [8_841_823 * forward(MARCO) / (0.263 * PEAK)] * 2


@pytest.mark.parametrize(
    ("by_hand", "stage", "params"),
    [
        (simlm_on_v100, "pretrain", {"max_steps": 80_000, "length": 144, "objective": "simlm"}),
        (simlm, "pretrain", {"max_steps": 80_000, "length": 144, "objective": "simlm"}),
        (contextual, "pretrain", {"max_steps": 50_000, "texts_per_batch": 16_384, "length": 144}),
        (costa, "pretrain", {"objective": "costa", "epochs": 6}),
        (fine_tuning, "finetune", {"queries_per_batch": 8, "passages_per_query": 8, "epochs": 3}),
        (encoding, "encode", {"precision": "fp16", "dataset": "msmarco-passage"}),
    ],
)
def test_hours_are_those_computed_by_hand(everything_at_full, by_hand, stage, params):
    def is_meant(node):
        texts = node.inputs.get("corpus", node.inputs.get("texts"))
        stated = {**node.params, "objective": node.params.get("objective", {}).get("name")}
        read = {"dataset": texts.params.get("dataset")} if texts else {}
        return node.stage == stage and params.items() <= {**stated, **read}.items()

    node = next(n for n in everything_at_full.nodes if is_meant(n))
    slow = assumed_throughput("v100" if by_hand == simlm_on_v100 else "h100")
    batching = Batching.of({}, slow.memory, packs=slow.packs)
    hours = [rates.hours(work(node, batching)) for rates in (slow.fastest, slow)]
    assert hours == pytest.approx([seconds / 3600 for seconds in by_hand()], rel=0.001)


def test_recorded_hours_are_those_of_the_plan():
    """63 and 330 h in the records, whose texts have 71 and 132 tokens on average."""
    assert simlm()[0] / 3600 == pytest.approx(63 * MARCO / 71, rel=0.05)
    assert contextual()[0] / 3600 == pytest.approx(330 * 144 / 132, rel=0.02)
