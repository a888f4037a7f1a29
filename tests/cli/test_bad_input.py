"""Bad input gets one sentence and the right exit status, never a traceback."""

import io
import os
import re
import signal
import subprocess
import sys

import click
import pytest

from repro.cli import VERBS, cli, main
from repro.retrieval.datasets import libraries
from tests.cli.conftest import CELL

EVERY_VERB = [verb for group in VERBS.values() for verb in group]
VIEWS = {
    verb: command.list_commands(None)
    for verb in EVERY_VERB
    if isinstance(command := cli.get_command(None, verb), click.Group)
}
# command line: words of the sentence
REFUSED = {
    f"show {CELL} --table 1": "is a path and cannot be combined with --table",
    "show costa/1/sparse.bm25": "'costa/1/sparse.bm25' is not the name of a cell. A cell is named PAPER/TABLE/ROW/COLUMN.",
    "run": r"name a paper \(costa, .*\), a table, a cell, or --all",
    "run --table 1": r"--table and --row need a paper \(costa, .*\), or --all",
    "run costa/1/sparse.deepct/dl19.r1000": "is published as '-', which is not a measured number",
    "run simlm --table 11": "the selection has no published number that can be measured",
    "run costa --seeds 1,x": "--seeds takes whole numbers separated by commas, not '1,x'",
    "run costa --seeds 4294967296": "seeds takes whole numbers below",
    "run costa --reading bm25-parameters": "--reading takes ID=CHOICE, not 'bm25-parameters'. `repro show readings",
    "run costa --reading a=b --reading a=c": "--reading gives 'a' two choices",
    "run costa --table 1 --row bm25 --reading span-resampling=every-epoch": "changes nothing: no recipe",
    "run costa --store=": "--store is empty. Name a folder or remove the option.",
    "run costa --tabel 1": "No such option.*--table.*`repro run --help` describes the options",
    "report figures --tabel 1": "No such option.*--table.*`repro report figures --help` describes",
    "run costa --store ~nobody-of-that-name/x": "given for REPRO_STORE, is not a path",
    f"plan cotsa {CELL}": r"'cotsa' is not a known paper. Did you mean costa",
    "plan costa --price 2": "--price needs the hours of a GPU: name one with --gpu, e.g. h100",
    "plan costa --gpu h100 --price 2 --format json": "--price cannot be combined with",
    "plan costa --remember --by row": "--remember cannot be combined with --by",
    "compare my.run costa/1 --strict": "--strict is for verdicts, which your rows do not have. Remove --strict",
    "compare costa --table 1 --scale tiny --seeds 1,1": "seed 1 is given twice. Remove one",
    "run costa --engine auto --jobs 0": "--jobs is 0, but must be 1 or more, e.g. --jobs 4$",
    "run costa --engine local --jobs 0": "--jobs is 0, but must be 1 or more, e.g. --jobs 4$",
    f"show readings costa {CELL}": "is a cell and cannot be combined with papers",
    "show others nowhere": "'nowhere' is not a known paper",
    "show others simlm/2/nowhere/dev.rr10": "simlm/2 has no row nowhere",
    "audit claims cost": "'cost'",
    "audit claims costa --scale huge": "'huge'",
    "store gc --keep-days nan": "nan",
    "store gc --keep-days inf": "inf",
    "store gc --keep-days -1": "-1",
    "compare . costa": "is not a model directory",
    "run costa --rehearse --strict": "--rehearse cannot be combined with --strict",
    "store verify --store nowhere": "--store .*/nowhere is not a folder",
    f"export run {CELL} --output=": "-o is empty. Name a file, or remove -o for standard output.",
    "doctor smoke costa x/": "an encoder is scored alone or with one PAPER and --table",
    "show settings head_to_head": "head_to_head: there is no settings.yaml to compare the plan with",
    "plan costa --discard vector": r"'vector' is not a known kind of artefact to discard. Did you mean vectors",
    "plan costa --table 7 --scale tiny --gpu=": "'' is not a known GPU. Known: v100",
    f"import run none {CELL}": "none: no such file",
    "audit no-such.tex": r"'no-such.tex' is not a known path, view or paper. Known: ",
    "audit https://host/paper.pdf": "'https://host/paper.pdf' is an address. Download the file and give its path",
    "audit costa papers/": "costa is a paper and papers/ a path. Audit one at a time.",
    "audit --references --strict": "--strict cannot be combined with --references",
    "stage zzz": "no stage planned with this store has a fingerprint that begins with 'zzz'",
    "stage ..": "no stage planned with this store has a fingerprint",
    "data fetch beir/scifat": r"'beir/scifat' is not a known dataset. Did you mean beir/scifact",
    "data fetch tiny/passage --yes": "tiny/passage is embedded and needs no fetching",
    "data fetch msmarco-passage --library beir --yes": "'beir' cannot fetch msmarco-passage",
    "data fetch model:../../etc --yes": "'../../etc' is not the name of a hub model",
}


# command line: the subject, the nearest name, the names that exist, the next command
UNKNOWN = {
    "frobnicate": ("`repro` has no verb frobnicate.", "", "verbs", "`repro --help`"),
    "compar": ("`repro` has no verb compar.", "compare", "verbs", "`repro --help`"),
    "data ftch": ("`repro data` has no subcommand ftch.", "fetch", "subcommands", "`repro data --help`"),
    "show readngs costa": ("`repro show` has no view readngs.", "readings", "views", "`repro show --help`"),
    "show cotsa": ("'cotsa' is not a known paper.", "costa", "", "`repro show`"),
    "run cotsa": ("'cotsa' is not a known paper.", "costa", "", "`repro show`"),
    "show costa --table 9": ("costa has no table 9.", "", "tables", "`repro show costa`"),
    "run costa --table figure-9": ("costa has no figure 9.", "", "figures", "`repro show costa`"),
    "show costa/1/berd/dev.rr10": ("costa/1 has no row berd.", "", "rows", "`repro show costa/1`"),
    "run costa --row bm52": ("the selection has no row bm52.", "bm25", "rows", "`repro show PAPER --table"),
    f"show {CELL}0": ("costa/1 has no column dev.rr100.", "dev.rr10", "columns", "`repro show costa/1`"),
    "run costa --scale tny": ("'tny' is not a known scale.", "tiny", "", "--scale mine.yaml"),
    "run costa --reading bm25-parameter=x": (
        "'bm25-parameter' is not a known reading of the selected papers.",
        "bm25-parameters",
        "",
        "`repro show readings PAPER`",
    ),
    "run costa --reading bm25-parameters=x": ("reading bm25-parameters has no choice x.", "", "choices", ""),
}


@pytest.mark.parametrize("line", UNKNOWN)
def test_an_unknown_name_is_one_sentence_with_the_known_ones_and_the_next_command(repro, folders, line):
    subject, near, label, command = UNKNOWN[line]
    said = repro(line)
    assert said.status == 2 and said.err.count("\n") == 1
    assert said.sentence.startswith(f"{subject} Did you mean {near}? " if near else subject)
    names = said.sentence.partition(f"Its {label}: " if label else "Known: ")[2]
    assert re.match(r"\S+(, \S+){0,9}( … and \d+ more)?\.( |$)", names) and command in names
    assert not (folders / "results").exists()


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_not_known_is_named_with_what_is(repro, folders, line):
    said = repro(line)
    assert said.status == 2
    assert re.search(REFUSED[line], said.sentence), said.sentence
    assert not (folders / "results").exists()


def test_a_downloads_consent_is_asked_for(repro):
    said = repro("data fetch beir/scifact")
    assert said.status == 2
    description, sentence = said.err.splitlines()
    assert description.startswith("SciFact: 2.8 MB to download, CC BY-NC 2.0; into ")
    assert sentence == "repro: fetching beir/scifact needs your consent: add --yes"


@pytest.mark.parametrize("verb", [[], ["data"]])
def test_without_a_verb_the_help_is_shown_and_nothing_was_done(repro, verb):
    said = repro(*verb)
    assert said.status == 2 and said.err.startswith("Usage: repro") and "Examples:" in said.err


@pytest.mark.parametrize(
    "verb", [[v] for v in EVERY_VERB] + [[verb, view] for verb, views in VIEWS.items() for view in views]
)
def test_every_verb_has_help_with_examples_and_no_leftover_markup(repro, verb):
    said = repro(*verb, "--help")
    assert said.status == 0
    assert "Examples:\n  " in said.out
    words = verb[:1] if verb[0] == "audit" else verb
    assert f"repro {' '.join(words)}" in said.out.split("Examples:")[1]
    assert "``" not in said.out


LOOKING = [
    "show",
    "show readings costa",
    "show costa --table 1",
    f"show {CELL}",
    "data list",
    "plan costa --table 1 --scale tiny",
    "compare costa --table 1 --scale tiny",
    "store verify",
    "doctor",
]


@pytest.mark.parametrize("line", LOOKING)
def test_looking_makes_no_folder(repro, folders, line, monkeypatch):
    # except for the model of an installed package, which is unpacked into the user's cache once
    monkeypatch.setattr("repro.running.requirements.hub_models.unpacked_folder", lambda *of_package: None)
    assert repro(line).status == 0
    assert list(folders.iterdir()) == []


@pytest.mark.parametrize("place", ["gone", "a-file"])
@pytest.mark.parametrize(
    "line", ["plan costa --table 1", "run costa --table 1", "data list", "data check", "doctor"]
)
def test_data_that_is_no_folder_is_refused(repro, folders, monkeypatch, place, line):
    (folders / "a-file").write_text("")
    monkeypatch.setenv("REPRO_DATA", str(folders / place))
    said = repro(line)
    assert said.refusal == f"--data or REPRO_DATA is {str(folders / place)!r}, which is not a folder"


@pytest.mark.parametrize(
    ("variable", "value", "selected"),
    [
        ("REPRO_PADDING_FREE", "2", [CELL]),
        ("REPRO_PADDING_FREE", "2", ["head_to_head", "--table", "1", "--row", "bert"]),
        ("REPRO_MICRO_BATCH", "some", ["head_to_head", "--table", "1", "--row", "bert"]),
        ("REPRO_SEARCH_MEMORY", "some", ["head_to_head", "--table", "1", "--row", "bert"]),
    ],
)
def test_a_wrong_value_of_how_models_run_is_refused_before_anything_runs(
    repro, folders, monkeypatch, variable, value, selected
):
    monkeypatch.setenv(variable, value)
    said = repro("run", *selected, "--scale", "tiny")
    assert said.refusal.startswith(f"{variable} is {value!r}")
    assert list(folders.iterdir()) == []


def test_without_java_bm25_is_blocked_with_a_remedy_and_the_rest_runs(repro, monkeypatch):
    monkeypatch.setenv("REPRO_JAVA_HOME", "/nonexistent")
    said = repro(f"run {CELL} --scale tiny --format json")
    assert said.status == 4
    [cell] = said.json
    cause = "BM25 needs a Java 21 runtime, and REPRO_JAVA_HOME=/nonexistent is not one"
    assert cell["verdict"] == "blocked"
    assert cell["blocked"] == [
        {"cause": cause, "remedy": "unset it, or set it to the folder of a Java 21 runtime"}
    ]
    assert "Ran 3 of " in said.err
    assert repro("doctor").status == 4


def test_without_a_network_a_download_is_one_sentence(repro, folders, monkeypatch):
    monkeypatch.setattr(libraries, "PAUSE", 0)
    monkeypatch.setenv("REPRO_DATA", str(folders / "data"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(folders / "irds"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    said = repro("data fetch beir/fiqa --yes")
    assert (said.status, said.out) == (4, "")
    description, *_, sentence = said.err.splitlines()
    assert description.startswith("FiQA 2018: 17.9 MB to download")
    assert re.fullmatch(r"repro: beir/fiqa could not be downloaded \(\w+\); check the network .*", sentence)
    assert [path for path in (folders / "data").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("line", ["show cells --format json", "show costa"])
def test_a_reader_that_goes_away_ends_what_is_read_without_a_word(start, line):
    child = start(*line.split())
    child.stdout.close()
    child.stdout = None
    _, err = child.communicate()
    assert (child.returncode, err) == (141, "")


def test_a_run_whose_reader_goes_away_says_so_and_is_not_done(start, measured):
    child = start("run", CELL, "--scale", "tiny")
    child.stdout.close()
    child.stdout = None
    _, err = child.communicate()
    assert child.returncode == 141
    assert err.endswith(
        "repro: the reader of standard output ended. The same command continues where it stopped.\n"
    )


def test_a_run_whose_progress_nobody_reads_is_not_done(start):
    child = start("run", CELL, "--scale", "tiny", stderr=subprocess.STDOUT)
    child.stdout.readline()
    child.stdout.close()
    assert child.wait() == 141


@pytest.mark.parametrize(
    ("how", "status", "sentence"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("<&-", 0, ""),
        (">/dev/full", 2, "repro: standard output: No space left on device\n"),
    ],
)
def test_a_closed_or_full_stream_is_no_traceback(folders, how, status, sentence):
    command = f'"{sys.executable}" -m repro show cells costa --format csv {how}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (status, sentence)


@pytest.mark.parametrize(
    ("encoding", "line", "written"),
    [
        ("latin-1", "show costa --table 1", "0.366*†‡".encode()),
        ("utf-8", "report costa --format markdown -o \udcff.md", b"\xff.md\n"),
    ],
)
def test_output_is_utf_8_and_names_of_files_are_their_bytes(folders, monkeypatch, encoding, line, written):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.chdir(folders)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["repro", *line.split()])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0 and written in out.buffer.getvalue()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_whoever_is_asked_to_end_says_what_ctrl_c_makes_it_say(repro, monkeypatch, number):
    def unheard(*arguments):
        raise AssertionError("it would have ended without a word")

    monkeypatch.setattr("repro.cli.cli", lambda **options: os.kill(os.getpid(), number))
    before = signal.signal(number, unheard)
    try:
        said = repro("run costa"), repro("doctor smoke")
        assert signal.getsignal(number) is unheard
    finally:
        signal.signal(number, before)
    continues = "interrupted. The same command continues where it stopped."
    assert [(s.status, s.sentence) for s in said] == [(130, continues), (130, "interrupted")]


def test_an_interrupted_run_says_so_in_one_sentence_and_leaves_no_process(start):
    psutil = pytest.importorskip("psutil")
    child = start("run", CELL, "-v", "--scale", "tiny")  # nothing heavy before Lucene
    begun = ""
    while "lucene_index" not in begun:
        begun += (piece := child.stderr.read(1))
        assert piece, begun
    lucene = []
    while child.poll() is None and not lucene:
        lucene = psutil.Process(child.pid).children(recursive=True)
    os.kill(child.pid, 2)
    out, err = child.communicate()
    assert (child.returncode, out) == (130, "")
    sentences = [line for line in err.splitlines() if line.startswith("repro: ")]
    assert sentences == ["repro: interrupted. The same command continues where it stopped."]
    assert psutil.wait_procs(lucene, timeout=10)[1] == []
