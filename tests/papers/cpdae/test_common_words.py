import pytest
import torch

from papers.cpdae.common_words import WordShares, commonest, decoded, main, shares_of, word_shares
from papers.cpdae.word_distribution import view
from repro.errors import UsageError
from tests.floats import close
from tests.tiny_models import tiny_tokenizer

CLS, SEP = 0, 1
ROWS = [[CLS, 2, 3, 2, SEP], [CLS, 2, 4, SEP], [CLS, 3, 5, 2, SEP]]
TEXTS = ["the bridges and the storms ended", "winter storms and the zither", "the winter ended"]


def test_the_commonest_are_in_the_most_texts_however_often_in_each():
    assert commonest(ROWS, 2, left_out=[CLS, SEP]) == [2, 3]
    assert commonest([[5, 5, 5, 4], [4]], 1, left_out=[]) == [4]
    assert commonest([[5, 4]], 1, left_out=[]) == [4]


def test_shares_are_sums_of_the_distribution_over_the_words_of_either_kind():
    p = torch.tensor([[0.1, 0.1, 0.4, 0.2, 0.1, 0.1], [0.0, 0.0, 0.1, 0.3, 0.6, 0.0]], dtype=torch.float64)
    found = word_shares(p, ROWS[:2], common=[2, 5], left_out=[CLS, SEP])
    expected = WordShares(
        common=(0.4 + 0.1 + 0.1 + 0.0) / 2,
        own=(0.2 + 0.6) / 2,
        of_text=(0.4 / 0.6 + 0.1 / 0.7) / 2,
        by_count=1 / 2,
        texts=2,
    )
    close(vars(found), vars(expected))


def test_a_decoder_that_gives_all_words_the_same_has_the_share_of_the_count():
    found = word_shares(torch.full((3, 6), 1 / 6), ROWS, common=[2], left_out=[CLS, SEP])
    assert found.of_text == pytest.approx(found.by_count) == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)


def test_texts_of_one_kind_alone_are_left_out_and_none_left_is_an_error():
    p = torch.full((3, 6), 1 / 6)
    assert word_shares(p, ROWS, common=[3], left_out=[CLS, SEP]).texts == 2
    with pytest.raises(UsageError, match="both common and other words"):
        word_shares(p, ROWS, common=[2, 3, 4, 5], left_out=[CLS, SEP])


def test_distributions_are_those_of_table_4_and_do_not_depend_on_what_is_beside_a_text(model_folder):
    tokenizer = tiny_tokenizer()
    rows = [tokenizer(text)["input_ids"] for text in TEXTS]
    together = decoded(model_folder, rows)
    close(together.sum(dim=1), torch.ones(3))
    for text, row, distribution in zip(TEXTS, rows, together, strict=True):
        close(decoded(model_folder, [row])[0], distribution)
        for word, value in view(model_folder, text, shown="sum", length=32):
            pieces = tokenizer(word, add_special_tokens=False)["input_ids"]
            close(value, distribution[pieces].sum())


def test_a_line_for_every_model_and_a_missing_file_in_one_sentence(model_folder, tmp_path, capsys):
    path = tmp_path / "texts"
    path.write_text("\n".join(TEXTS))
    assert main([str(path), str(model_folder), str(model_folder), "--common", "2"]) == 0
    _head, _rule, *lines = capsys.readouterr().out.splitlines()
    found = shares_of(model_folder, TEXTS, common=2, length=64)
    assert len(lines) == 2 and f"| {100 * found.common:.2f} % | {100 * found.own:.2f} % |" in lines[0]
    assert main([str(tmp_path / "none"), str(model_folder)]) == 2
    assert "cannot be read as text" in capsys.readouterr().err
