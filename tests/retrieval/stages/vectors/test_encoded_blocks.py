import json

import numpy as np
import pytest

from repro.errors import StageError
from repro.retrieval.stages.vectors import encoded_blocks
from repro.store.disk import size_on_disk

TEXTS, BLOCK = 50, 8
FIRSTS = range(0, TEXTS, BLOCK)


def made(views=("dense", "sparse"), *, texts=TEXTS, kept=0.3):
    generator = np.random.default_rng(0)
    rows = []
    for _ in range(texts):
        row, sparse = {}, np.flatnonzero(generator.random(40) < kept).astype(np.int32)
        if "dense" in views:
            row["vectors"] = generator.normal(size=6).astype(np.float32)
        if "sparse" in views:
            row |= {"indices": sparse, "values": generator.random(len(sparse), dtype=np.float32)}
        rows.append(row)
    return rows


def encoded(out, rows):
    """Write the blocks that are not kept, as the stage does. Returns their first rows."""
    folder = out / "blocks"
    folder.mkdir(parents=True, exist_ok=True)
    encoded_blocks.check_joined(folder, FIRSTS)
    done = []
    for first in FIRSTS:
        block = rows[first : first + BLOCK]
        if not encoded_blocks.block_is_kept(folder, first, len(block)):
            encoded_blocks.save_block(folder, first, block)
            done.append(first)
    return done


def joined(out):
    return encoded_blocks.join_blocks(out / "blocks", out, FIRSTS, vocabulary=40)


def expected(folder, rows):
    folder.mkdir()
    if "vectors" in rows[0]:
        np.save(folder / "vectors.npy", np.stack([row["vectors"] for row in rows]))
    if "values" in rows[0]:
        np.save(folder / "indptr.npy", np.cumsum([0, *(len(row["values"]) for row in rows)]))
        for name in ("indices", "values"):
            np.save(folder / f"{name}.npy", np.concatenate([row[name] for row in rows]))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def arrays(out):
    return {path.name: path.read_bytes() for path in out.glob("*.npy")}


@pytest.mark.parametrize("views", [("dense", "sparse"), ("dense",), ("sparse",)])
@pytest.mark.parametrize("kept", [0.3, 0.0])
def test_joined_blocks_have_the_bytes_of_arrays_written_at_once(tmp_path, views, kept):
    rows = made(views, kept=kept)
    assert encoded(tmp_path / "out", rows) == list(FIRSTS)
    facts = joined(tmp_path / "out")
    assert arrays(tmp_path / "out") == expected(tmp_path / "at once", rows)
    size = {"size": 6} if "dense" in views else {}
    values = {"values": sum(len(row["values"]) for row in rows)} if "sparse" in views else {}
    assert facts == size | values
    widths = {"dense": 6 if "dense" in views else None, "sparse": 40 if "sparse" in views else None}
    assert json.loads((tmp_path / "out/views.json").read_text()) == widths


def test_the_disk_never_holds_more_than_the_arrays_and_one_block(tmp_path, monkeypatch):
    out, rows, held, write = tmp_path / "out", made(), [], encoded_blocks._write
    encoded(out, rows)
    block = max(path.stat().st_size for path in (out / "blocks").iterdir())
    before = size_on_disk(out)

    def measured(*arguments):
        written = write(*arguments)
        held.append(sum(path.stat().st_size for path in out.rglob("*.np[yz]")))
        return written

    monkeypatch.setattr(encoded_blocks, "_write", measured)
    joined(out)
    arrays_alone = sum(map(len, arrays(out).values()))
    assert len(held) > 20 and max(held) <= max(before, arrays_alone) + block
    assert not list((out / "blocks").glob("*.npz"))


@pytest.mark.parametrize("killed_at", range(1, 29, 4))
def test_joining_goes_on_where_it_was_killed(tmp_path, monkeypatch, killed_at):
    out, rows, calls, write = tmp_path / "out", made(), [], encoded_blocks._write
    encoded(out, rows)

    def dies(*arguments):
        calls.append(1)
        if len(calls) == killed_at:
            raise KeyboardInterrupt
        return write(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(encoded_blocks, "_write", dies)
        joined(out)
    assert encoded(out, rows) == []
    joined(out)
    assert arrays(out) == expected(tmp_path / "at once", rows)


@pytest.mark.parametrize("content", ["{", None])
def test_a_note_that_cannot_be_read_or_is_gone_has_its_block_encoded_again_with_all_behind_it(
    tmp_path, content
):
    out, rows = tmp_path / "out", made()
    encoded(out, rows)
    joined(out)
    note = out / "blocks/32.json"
    note.unlink() if content is None else note.write_text(content)
    assert encoded(out, rows) == [32, 40, 48]
    joined(out)
    assert arrays(out) == expected(tmp_path / "at once", rows)


@pytest.mark.parametrize("name", ["vectors", "values"])
def test_a_number_that_is_not_finite_is_refused_with_its_rows(tmp_path, name):
    rows = made(kept=1.0)[:BLOCK]
    rows[3][name][2] = np.nan
    with pytest.raises(StageError, match="a text among rows 8 to 16 is not finite"):
        encoded_blocks.save_block(tmp_path, 8, rows)
    assert not list(tmp_path.iterdir())


def test_vectors_alone_may_be_of_float16_and_need_no_widths(tmp_path):
    rows = [{"vectors": row["vectors"].astype(np.float16)} for row in made(("dense",))]
    encoded(tmp_path / "out", rows)
    folder = tmp_path / "out/blocks"
    assert encoded_blocks.join_blocks(folder, tmp_path / "out", FIRSTS, vocabulary=None) == {"size": 6}
    assert encoded(tmp_path / "out", rows) == []
    assert arrays(tmp_path / "out") == expected(tmp_path / "at once", rows)
    assert not (tmp_path / "out/views.json").exists()
