from __future__ import annotations

import pytest
import torch

from papers.baselines.cls_attention import ClsAttention
from tests.floats import close
from tests.tiny_models import tiny_masked_lm


@pytest.mark.parametrize("layers", [1, 3])
def test_it_is_what_transformers_gives_for_cls_in_the_last_layer(layers):
    from transformers import BertForMaskedLM

    model = tiny_masked_lm(layers=layers).eval()
    eager = BertForMaskedLM(model.config)
    eager.load_state_dict(model.state_dict())
    eager.set_attn_implementation("eager")
    input_ids = torch.randint(5, 60, (3, 12), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(input_ids)
    mask[1, 7:] = 0
    with torch.no_grad():
        weights = eager.eval().bert(input_ids, attention_mask=mask, output_attentions=True).attentions[-1]
    found = ClsAttention(model)(input_ids, mask)
    close(found, weights[:, :, 0].mean(dim=1))
    assert (found[1, 7:] == 0).all()
    close(found.sum(dim=1), torch.ones(3))


def test_training_the_model_does_not_change_it_nor_does_it_change_the_model():
    model = tiny_masked_lm(layers=2)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    attention = ClsAttention(model.train())
    input_ids, mask = torch.tensor([[2, 20, 30, 40, 3]]), torch.ones(1, 5, dtype=torch.long)
    first = attention(input_ids, mask)
    assert all((before[name] == tensor).all() for name, tensor in model.state_dict().items())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    assert (attention(input_ids, mask) == first).all() and not first.requires_grad
    assert len(model.base_model.encoder.layer) == 2
