"""A source is one file, a folder or an archive; what cannot be read is one sentence, and soon."""

import gzip
import io
import random
import tarfile
import zipfile

import pytest

from repro.errors import DataError, UsageError
from repro.plugins.manuscripts import files, gullet, source_tables
from repro.plugins.manuscripts.reading import read
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro
from tests.plugins.manuscripts.sources import PREAMBLE, rows, written

TABLE = r"\begin{tabular}{lc}Model & MRR \\ \hline BM25 & 18.7 \\ Heron & 39.9 \\\end{tabular}"
PAPER = PREAMBLE + r"\input{tables/main}\end{document}"
BODY = [["BM25", "18.7"], ["Heron", "39.9"]]


def packed(path, members):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return path
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_an_archive_is_read_where_it_is(tmp_path, name):
    members = {"main.tex": PAPER, "tables/main.tex": "\n" + TABLE, "figure.pdf": "%PDF", "../out.tex": TABLE}
    path = packed(tmp_path / name, members)
    (table,) = read(path).tables
    assert (rows(table), str(table.place)) == (BODY, f"{path}/tables/main.tex:2")
    assert list(tmp_path.iterdir()) == [path]


def test_one_compressed_file_is_a_paper(tmp_path):
    path = tmp_path / "2101.00001.gz"
    path.write_bytes(gzip.compress((PREAMBLE + TABLE).encode()))
    assert rows(read(path).tables[0]) == BODY


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_encodings_are_told_apart(tmp_path, encoding):
    text = TABLE.replace("Heron", "Zoé").replace(" \\\\", " \\\\\r\n")
    (tmp_path / "a.tex").write_bytes(text.encode(encoding))
    assert rows(read(tmp_path / "a.tex").tables[0])[1] == ["Zoé", "39.9"]


def test_the_paper_of_a_folder_is_the_one_with_a_document(tmp_path):
    written(tmp_path, TABLE, "tables/main.tex")
    written(tmp_path, PREAMBLE + "A letter." + r"\end{document}", "letter.tex")
    made = read(written(tmp_path, PAPER, "paper.tex").parent)
    assert rows(made.tables[0]) == BODY
    assert made.notes == (f"{tmp_path}/paper.tex is the paper. Not read: letter.tex",)


def test_the_paper_has_numbers_in_its_tables_and_is_nearest_to_the_root(tmp_path):
    written(tmp_path, TABLE, "tables/main.tex")
    for name in ("style/main.tex", "old/tables/main.tex", "old/paper.tex"):
        written(tmp_path, TABLE if "tables" in name else PREAMBLE + "Words." * 99 + r"\end{document}", name)
    made = read(written(tmp_path, PAPER, "submission.tex").parent)
    assert rows(made.tables[0]) == BODY and "submission.tex is the paper" in made.notes[0]


BROKEN = {
    "binary": (b"\x00\x01\x02" * 100, "is a binary file"),
    "pdf": (b"%PDF-1.5 ...", "is a PDF"),
    "empty": (b"", "is empty"),
    "no_table": (PREAMBLE.encode() + b"Words. \\end{document}", "contains no table"),
    "cycle": (PREAMBLE.encode() + b"\\input{main}", "includes itself: main.tex -> main.tex"),
    "growth": (
        b"\\def\\a{\\b\\b}\\def\\b{\\c\\c}\\def\\c{\\d\\d}\\def\\d{\\a\\a}" + b"\\a\n" * 5_000,
        "contains no table .*The macro \\\\a never ends",
    ),
    "depth": (TABLE.replace("18.7", "{" * 500 + "18.7" + "}" * 500).encode(), "nested too deeply"),
    "length": (b"x" * (gullet.CHARACTERS + 1), "has more than 1,000,000 characters"),
    "large": (b"%" * (files.FILE_BYTES + 1), "is larger than 4 MB"),
    "broken_archive": (b"PK\x03\x04" + b"x" * 100, "cannot be unpacked"),
    "broken_gz": (b"\x1f\x8b" + b"x" * 100, "cannot be unpacked"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_read_is_one_sentence(tmp_path, kind):
    content, sentence = BROKEN[kind]
    (tmp_path / "main.tex").write_bytes(content)
    with pytest.raises(DataError, match=sentence) as caught:
        read(tmp_path / "main.tex")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [r"\def\a{\a}", r"\def\a{x\a\a}", r"\def\a{\b}\def\b{\a\a}", r"\def\a#1{\a{#1#1}}"]
)
def test_a_macro_without_end_is_left_out_and_told(tmp_path, text):
    made = read(written(tmp_path, text + PREAMBLE + r"\a{x}" + "\n\n" + TABLE + r"\end{document}"))
    assert rows(made.tables[0]) == BODY
    assert made.notes == (f"{tmp_path}/main.tex:3: The macro \\a never ends and is omitted.",)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "linked", "nowhere", "a" * 300])
def test_nothing_outside_of_the_folder_is_read(tmp_path, name):
    written(tmp_path, TABLE.replace("18.7", "99.9"), "outside.tex")
    paper = written(tmp_path, PREAMBLE + rf"\input{{{name}}}{TABLE}\end{{document}}", "paper/main.tex")
    (tmp_path / "paper/linked.tex").symlink_to(tmp_path / "outside.tex")
    made = read(paper)
    assert len(made.tables) == 1 and rows(made.tables[0]) == BODY
    assert len(made.notes) == 1 and name in made.notes[0]


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FILE_BYTES", 2**20)
    monkeypatch.setattr(files, "UNPACKED_BYTES", 2**22)
    for name in ("a.zip", "a.tar.gz"):
        with pytest.raises(DataError, match="is larger than 1 MB"):
            read(packed(tmp_path / name, {"main.tex": "x" * 2**21}))
    with pytest.raises(DataError, match="unpacks to more than"):
        read(packed(tmp_path / "b.tar.gz", {"main.tex": TABLE, "figure.png": "x" * 2**23}))


def _odd_zip(*places, value):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("main.tex", TABLE)
    raw = bytearray(content.getvalue())
    for signature, place in zip((b"PK\3\4", b"PK\1\2"), places, strict=True):
        raw[raw.index(signature) + place] = value
    return bytes(raw)


def _odd_tar(mode, text=TABLE, **headers):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode, format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("main.tex")
        member.size, member.pax_headers = len(text), headers
        archive.addfile(member, io.BytesIO(text.encode()))
    return content.getvalue()


XZ = bytearray(_odd_tar("w:xz", random.Random(1).randbytes(200_000).hex()))
XZ[len(XZ) // 2] ^= 0xFF


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(bytes(XZ), id="flipped byte of xz"),
        pytest.param(_odd_zip(6, 8, value=1), id="encrypted zip"),
        pytest.param(_odd_zip(8, 10, value=77), id="zip of an unknown method"),
        pytest.param(_odd_tar("w", **{"GNU.sparse.map": "a,b,c"}), id="sparse map of words"),
    ],
)
def test_an_archive_that_cannot_be_unpacked_is_one_sentence_of_every_verb(repro, folders, content):
    path = folders / "a.archive"
    path.write_bytes(content)
    for words in (["audit", path], ["new", "paper", "odd", "--from", path]):
        said = repro(*words)
        assert said.status == 2 and said.sentence.startswith(f"{path}: cannot be unpacked: ")


@pytest.mark.parametrize(
    ("name", "text"), [("nowhere.tex", None), ("notes.txt", "Words."), ("a.py", "import re")]
)
def test_what_is_no_source_is_told(tmp_path, name, text):
    if text is not None:
        written(tmp_path, text, name)
    with pytest.raises(UsageError):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.tex", "b.tex", "a.csv", "a.md", "a.html"])
def test_a_table_that_is_too_large_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(source_tables, "MOST_CELLS", 5)
    texts = {
        "a.tex": TABLE,
        "b.tex": TABLE.replace("18.7", r"\multicolumn{6}{c}{x}"),
        "a.csv": "a,b\n" * 3,
        "a.md": "|a|b|\n|-|-|\n|c|d|\n" * 2,
        "a.html": "<table>" + "<tr><td>a<td>b" * 3,
    }
    with pytest.raises(DataError, match="more than 5 cells"):
        read(written(tmp_path, texts[name], name))


def test_a_folder_or_archive_of_files_of_tables_is_read(tmp_path):
    texts = {"a.csv": "Model,MRR\nBM25,18.7\nHeron,39.9\n", "b.md": "Words.", "c.sty": "% no table"}
    for name, text in texts.items():
        written(tmp_path / "results", text, name)
    for path in (tmp_path / "results", packed(tmp_path / "a.tar.gz", texts)):
        made = read(path)
        assert [rows(table) for table in made.tables] == [BODY]
        assert [said for _, said in made.prose] == ["Words."]


def test_the_title_is_that_of_the_source(tmp_path):
    title = r"\title[Short]{Herons \\ in \emph{Ponds}\thanks{To all.}}"
    assert read(written(tmp_path, title + TABLE)).title == "Herons in Ponds"
    assert read(written(tmp_path, TABLE)).title == ""
