from __future__ import annotations

from pathlib import Path

from torch import nn

from tests.papers.baselines import test_condenser as condenser
from tests.papers.baselines import test_contrastive_term_words as b_prop
from tests.papers.baselines import test_dropout_contrast as simcse
from tests.papers.baselines import test_inverse_cloze as ict
from tests.papers.baselines import test_representative_words as prop
from tests.papers.baselines import test_weak_decoder as seed
from tests.papers.baselines.tiny_texts import save_statistics, texts

MLM = {"rate": 0.3, "mask": 0.8, "random": 0.1}


def made(module, folder: Path, **changes) -> nn.Module:
    if module in (prop, b_prop):
        return module.objective(save_statistics(folder / "statistics", texts(50)), **changes)
    return module.objective(**changes)


CASES = {
    "condenser": (condenser, {}),
    "condenser, head alone": (condenser, {"late": False, "unit": "bernoulli"}),
    "seed": (seed, {}),
    "seed, sum": (seed, {"reduction": "sum", "encoder_input": "clean", "weight": 0.3}),
    "seed, released decoder": (seed, {"decoder": "cross-attention"}),
    "prop": (prop, {}),
    "prop, clean": (prop, {"contrastive_input": "clean", "mlm_reduction": "sum", "weight": 0.3}),
    "b-prop": (b_prop, {}),
    "b-prop, clean": (b_prop, {"contrastive_input": "clean", "mlm_reduction": "sum"}),
    "simcse": (simcse, {"dropout": 0.0}),
    "simcse, mlm": (simcse, {"dropout": 0.0, "mlm": MLM}),
    "ict": (ict, {}),
    "ict, texts apart": (ict, {"mlm_on": "text", "similarity": "cosine"}),
    "ict, short texts dropped": (ict, {"short_text": "drop", "mlm_reduction": "sum"}),
}
