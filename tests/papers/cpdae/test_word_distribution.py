from __future__ import annotations

import pytest
import torch

from papers.cpdae import shade_text
from papers.cpdae.word_distribution import view
from repro.errors import DataError, UsageError
from tests.floats import close
from tests.tiny_models import save_tiny_model, tiny_masked_lm, tiny_tokenizer

TEXT = "Bridges, and the zither winter-storms ended"


def probabilities(model_folder, ids):
    from safetensors.torch import load_file

    weights = load_file(model_folder / "decoder.safetensors")
    encoder = tiny_masked_lm().bert.eval()
    with torch.no_grad():
        h = encoder(torch.tensor([ids])).last_hidden_state[0, 0]
        inner = torch.nn.functional.gelu(weights["dense.weight"] @ h + weights["dense.bias"])
        inner = (inner - inner.mean()) / (inner.var(correction=0) + 1e-12).sqrt()
        return torch.sigmoid(weights["vocabulary.weight"] @ inner + weights["vocabulary.bias"])


def test_words_are_those_written_each_with_the_sum_over_its_pieces(model_folder):
    found = view(model_folder, TEXT, shown="sigmoid", length=32)
    written = ["Bridges", ",", "and", "the", "zither", "winter", "-", "storms", "ended"]
    assert [word for word, _ in found] == written
    tokenizer = tiny_tokenizer()
    s = probabilities(model_folder, tokenizer(TEXT)["input_ids"])
    for word, value in found:
        pieces = tokenizer(word, add_special_tokens=False)["input_ids"]
        close(value, s[pieces].sum())
    assert len(tokenizer("Bridges", add_special_tokens=False)["input_ids"]) == 2


def test_other_scales_are_the_same_values_divided(model_folder):
    s = probabilities(model_folder, tiny_tokenizer()(TEXT)["input_ids"])
    plain = view(model_folder, TEXT, shown="sigmoid", length=32)
    for shown, divisor in (("largest", s.max()), ("sum", s.sum())):
        found = view(model_folder, TEXT, shown=shown, length=32)
        assert [word for word, _ in found] == [word for word, _ in plain]
        expected = [(value / divisor).item() for _, value in plain]
        close([value for _, value in found], expected, dtype="float32")


def test_a_text_is_cut_to_the_length_between_words(model_folder):
    tokens = tiny_tokenizer()(TEXT)["input_ids"]
    for length in range(2, len(tokens) + 3):
        words = [word for word, _ in view(model_folder, TEXT, shown="sigmoid", length=length)]
        cut = TEXT if len(words) == 9 else TEXT[: TEXT.index(words[-1]) + len(words[-1])] if words else ""
        assert len(tiny_tokenizer()(cut)["input_ids"]) <= length
    assert view(model_folder, TEXT, shown="sigmoid", length=3) == []


def test_what_is_cut_off_has_no_say_in_what_is_left(model_folder):
    tokenizer = tiny_tokenizer()
    found = view(model_folder, TEXT, shown="sigmoid", length=7)  # [CLS] bridge ##s , and the [SEP]
    assert [word for word, _ in found] == ["Bridges", ",", "and", "the"]
    s = probabilities(model_folder, tokenizer("Bridges, and the")["input_ids"])
    close(found[2][1], s[tokenizer.convert_tokens_to_ids("and")])
    whole = view(model_folder, "Bridges, and the", shown="sigmoid", length=32)
    close([value for _, value in whole], [value for _, value in found], dtype="float32")


def test_an_empty_text_has_no_words(model_folder):
    assert view(model_folder, "", shown="sigmoid", length=8) == []


def test_a_model_without_decoder_and_a_wrong_scale_are_errors(model_folder, tmp_path):
    save_tiny_model(tmp_path)
    with pytest.raises(DataError, match=r"decoder\.safetensors: cannot be read"):
        view(tmp_path / "model", TEXT, shown="sigmoid", length=8)
    with pytest.raises(DataError, match="cannot be read as a model"):
        view(tmp_path / "none", TEXT, shown="sigmoid", length=8)
    with pytest.raises(UsageError, match="'softmax' is not a known way to show a distribution"):
        view(model_folder, TEXT, shown="softmax", length=8)
    with pytest.raises(UsageError, match="more than the model's 64 positions"):
        view(model_folder, TEXT, shown="sigmoid", length=65)


def test_the_command_prints_words_or_one_sentence(model_folder, tmp_path, capsys):
    assert shade_text.main([str(model_folder), TEXT, "--length", "32"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("Bridges , and the zither winter - storms ended probability: 0 0.1")
    assert shade_text.main([str(tmp_path), TEXT]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "cannot be read as a model directory" in said
