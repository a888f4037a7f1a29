"""How an encoder reads texts is taken from its own directory, checked, and told where it says nothing."""

import json

import pytest

from repro.errors import DataError, UsageError
from repro.nn.encoder_conventions import Conventions, modules, pooling_of, stated


def written(folder, files):
    for name, value in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def listed(*kinds):
    """modules.json of these modules, each in a folder of its own, as older versions wrote it."""
    return [
        {
            "idx": n,
            "name": str(n),
            "path": f"{n}_{kind}" if n else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for n, kind in enumerate(kinds)
    ]


DIRECTORY = {
    "config.json": {"max_position_embeddings": 512},
    "modules.json": listed("Transformer", "Pooling"),
    "1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
}


def test_a_directory_that_says_nothing_gets_defaults_which_are_told(tmp_path):
    conventions, where = stated(tmp_path)
    assert conventions == Conventions() and conventions.pooling == "cls" and "defaults" in where


def test_what_an_export_says_is_read_back(tmp_path):
    said = Conventions(pooling="mean", similarity="cosine", query_length=9, separator=None)
    written(tmp_path, {"repro.json": {"conventions": said.to_json(), "from": "x"}})
    assert stated(tmp_path) == (said, "as its repro.json says")


def test_modules_prompts_and_lengths_are_read_from_their_files(tmp_path):
    about = {"prompts": {"query": "ask: ", "passage": "read: "}, "similarity_fn_name": "dot"}
    others = {"sentence_bert_config.json": {"max_seq_length": 77}, "config_sentence_transformers.json": about}
    found, _ = stated(written(tmp_path, DIRECTORY | others))
    assert found.pooling == "sentence-transformers" and found.similarity == "dot"
    assert (found.query_prefix, found.passage_prefix) == ("ask: ", "read: ")
    assert found.query_length == found.passage_length == 77
    assert pooling_of(modules(tmp_path)[1]) == "mean"


def test_where_no_length_is_stated_the_tokenizer_or_the_positions_limit_it(tmp_path):
    assert stated(written(tmp_path, DIRECTORY))[0].passage_length == 512
    written(tmp_path, {"tokenizer_config.json": {"model_max_length": 256}})
    assert stated(tmp_path)[0].passage_length == 256


def test_the_default_prompt_stands_where_a_side_has_none_of_its_own(tmp_path):
    about = {"prompts": {"query": "ask: ", "all": "any: "}, "default_prompt_name": "all"}
    found, _ = stated(written(tmp_path, DIRECTORY | {"config_sentence_transformers.json": about}))
    assert (found.query_prefix, found.passage_prefix) == ("ask: ", "any: ")


@pytest.mark.parametrize(
    "files, said",
    [
        ({"repro.json": "{"}, "cannot be read"),
        ({"repro.json": "[]"}, "not what such a file holds"),
        ({"repro.json": {"conventions": {"colour": 1}}}, "'colour' is none of the conventions"),
        ({"repro.json": {"conventions": {"pooling": "max"}}}, "no pooling 'max'"),
        ({"repro.json": {"conventions": {"query_length": "32"}}}, "query_length of an encoder cannot be"),
        ({"repro.json": {"conventions": {"passage_length": 1}}}, "it is 3 at least"),
        (DIRECTORY | {"modules.json": listed("Transformer", "LSTM")}, "Transformer, LSTM cannot be followed"),
        (DIRECTORY | {"1_Pooling/config.json": {"pooling_mode": "max"}}, "pooling max is not known"),
        (DIRECTORY | {"1_Pooling/config.json": {"pooling_mode": ["cls", "mean"]}}, "pooling cls, mean"),
        (DIRECTORY | {"1_Pooling/config.json": {"include_prompt": False}}, "prompts out"),
        (DIRECTORY | {"config_sentence_transformers.json": {"similarity_fn_name": "l1"}}, "similarity 'l1'"),
        (DIRECTORY | {"config.json": {}}, "how many tokens it reads"),
        (DIRECTORY | {"config.json": {"max_position_embeddings": "x"}}, "does not hold what such files do"),
        (DIRECTORY | {"modules.json": [{"path": ""}]}, "does not hold what such files do"),
        (DIRECTORY | {"modules.json": []}, "cannot be followed"),
        (
            DIRECTORY | {"modules.json": [{"idx": 0, "type": "Pooling", "path": "../b"}]},
            "'../b' is no folder of",
        ),
        ({"repro.json": {"conventions": ["cls"]}}, "none of the conventions"),
    ],
)
def test_what_is_broken_or_cannot_be_followed_is_named(tmp_path, files, said):
    with pytest.raises(DataError, match=said):
        stated(written(tmp_path, files))


def test_options_of_the_user_stand_above_and_are_checked():
    assert Conventions().but({"pooling": "mean", "similarity": None}).pooling == "mean"
    with pytest.raises(UsageError, match="no similarity 'l2'"):
        Conventions().but({"similarity": "l2"})
