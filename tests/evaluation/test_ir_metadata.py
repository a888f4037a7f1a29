import pytest
import yaml

from repro.errors import StoreError
from repro.evaluation.ir_metadata import END, START, completed, header, read_metadata

ENVIRONMENT = {
    "commit": "abc",
    "hardware": {
        "cpu": "A CPU",
        "cores": 2,
        "architecture": "x86_64",
        "gpu": None,
        "memory_gib": 8,
        "system": "L",
    },
    "software": {"numpy": "2.4"},
}


def test_the_header_is_yaml_behind_comment_marks_between_its_two_lines():
    first, *body, last = header({"tag": "t", "actor": {"team": "é: # x"}}).splitlines()
    assert (first, last) == (START, END) == ("# ir_metadata.start", "# ir_metadata.end")
    assert all(line.startswith("# ") for line in body)
    content = yaml.safe_load("\n".join(line[2:] for line in body))
    assert content == {"schema-version": 0.1, "tag": "t", "actor": {"team": "é: # x"}}


def test_what_the_suite_knows_is_put_under_the_schemas_keys_and_what_it_does_not_is_absent():
    known = {"tag": "t", "method": {"automatic": True}, "data": {"test collection": {"name": "old"}}}
    found = completed(
        known, collection={"name": "x", "ir_datasets": "x"}, measures=["RR@10"], environment=ENVIRONMENT
    )
    assert found == {
        "tag": "t",
        "method": {"automatic": True},
        "data": {"test collection": {"name": "x", "ir_datasets": "x"}},
        "research goal": {"evaluation": {"reported measures": ["RR@10"]}},
        "platform": {
            "hardware": {
                "cpu": {"model": "A CPU", "architecture": "x86_64", "number of cores": 2},
                "ram": "8 GiB",
            },
            "operating system": {"kernel": "L"},
            "software": {"libraries": ["numpy 2.4"]},
        },
        "implementation": {"source": {"lang": "python", "commit": "abc"}},
    }
    assert completed(known, collection={}, measures=[], environment={}) == known


def test_a_damaged_file_is_told(tmp_path):
    path = tmp_path / "run.ir_metadata.yml"
    path.write_text("a: [")
    with pytest.raises(StoreError, match="damaged"):
        read_metadata(path)
