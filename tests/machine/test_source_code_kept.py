"""What source_code found is kept on disk, and counts as long as every file says what it said then."""

import pytest

from repro.machine import source_code

ENTRY = "repro.work"
FACTS = {"digest": "0" * 64, "definitions": {"run": "00000000"}, "libraries": ["made_up"]}


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A suite of one module with a file of data beside its packages, which are seen by a new process each."""
    for name, text in {
        "repro/__init__.py": "",
        "repro/work.py": "def run():\n    return 1\n",
        "papers/__init__.py": "",
        "beside/__init__.py": "",
        "beside/data.txt": "1",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(source_code, "SETTLED", 0)
    monkeypatch.setattr(source_code, "OURS", dict.fromkeys(source_code.OURS, tmp_path))
    monkeypatch.setattr(source_code, "sources_of", source_code.Sources)
    return tmp_path


def of_new_process() -> source_code.Code:
    return source_code.code.__wrapped__(ENTRY)


def new(world) -> source_code.KeptCode:
    return source_code.KeptCode([world / "repro", world / "papers"])


def test_the_same_files_are_read_once_for_all_processes(world, monkeypatch):
    first = of_new_process()
    monkeypatch.setattr(source_code, "_code", None)  # which would read them
    assert of_new_process() == first


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-9], lambda text: text.replace("run", "ran"), lambda _: ""]
)
def test_a_broken_file_is_found_anew(world, damage):
    first = of_new_process()
    [file] = (world / "cache").rglob("*.json")
    whole = file.read_text()
    file.write_text(damage(whole))
    assert of_new_process() == first and file.read_text() == whole


@pytest.mark.parametrize(
    "edit",
    [
        lambda world: (world / "repro/work.py").write_text("def run():\n    return 2\n"),
        lambda world: (world / "papers/more.yaml").touch(),
        lambda world: (world / "papers/folder").mkdir(),
        lambda world: (world / "repro/link.py").symlink_to(world / "beside/data.txt"),
    ],
    ids=["edited", "added", "folder", "link"],
)
def test_facts_end_with_an_edit(world, edit):
    new(world).write((ENTRY,), FACTS, [world / "repro/work.py", world])
    assert new(world).read((ENTRY,)) == FACTS and new(world).read(("repro",)) is None
    edit(world)
    assert new(world).read((ENTRY,)) is None


def test_nothing_is_kept_of_files_elsewhere_or_that_change_meanwhile_or_have_just_changed(world, monkeypatch):
    kept = new(world)
    for place in ("beside/data.txt", "repro/../beside/data.txt"):
        kept.write((ENTRY,), FACTS, [world / place])
    (world / "repro/work.py").write_text("def run():\n    return 3\n")
    kept.write((ENTRY,), FACTS, [])
    monkeypatch.setattr(source_code, "SETTLED", 10**12)
    new(world).write((ENTRY,), FACTS, [])
    assert not (world / "cache").exists()


def test_other_rules_and_a_folder_that_cannot_be_written_find_nothing(world, monkeypatch):
    new(world).write((ENTRY,), FACTS, [])
    monkeypatch.setattr(source_code.sys, "version", "another")
    assert new(world).read((ENTRY,)) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(world / "beside/data.txt"))
    new(world).write((ENTRY,), FACTS, [])
    assert new(world).read((ENTRY,)) is None


def test_the_oldest_files_go(world, monkeypatch):
    monkeypatch.setattr(source_code, "MOST", 2)
    for number in range(4):
        new(world).write((str(number),), FACTS, [])
    assert len(list((world / "cache").rglob("*.json"))) == 2
