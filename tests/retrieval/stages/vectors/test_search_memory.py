from types import SimpleNamespace

import pytest

from repro.errors import UsageError
from repro.retrieval.stages.vectors import search_memory


@pytest.mark.parametrize(
    ("size", "expected"),
    [("1GB", 10**9), ("1.5 GiB", 3 * 2**29), ("800mb", 8 * 10**8), ("1000000", 10**6), ("12B", 12)],
)
def test_a_stated_size_is_in_bytes(monkeypatch, size, expected):
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", size)
    assert search_memory.search_memory() == expected


@pytest.mark.parametrize("size", ["much", "1 GBs", "-1GB", "0", "0.1B", "1e9"])
def test_what_is_no_size_is_refused_with_an_example(monkeypatch, size):
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", size)
    with pytest.raises(UsageError, match=f"REPRO_SEARCH_MEMORY is '{size}', .*e.g. 800MB"):
        search_memory.search_memory()


MB = 2**20


@pytest.fixture
def system(monkeypatch):
    files = {"available": 2**40}
    memory = SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=files["available"]))
    monkeypatch.setattr(search_memory, "psutil", memory)
    monkeypatch.delenv("REPRO_SEARCH_MEMORY", raising=False)
    monkeypatch.setattr(search_memory, "_text", lambda path: files.get(path, ""))
    return files


def group(files, folder, *, limit, used, stat=(0, 0), version=2):
    names = search_memory.V2 if version == 2 else search_memory.V1
    cached = "".join(f"{name} {size}\n" for name, size in zip(names[2:], stat, strict=True))
    files |= {f"{folder}/{names[0]}": f"{limit}\n", f"{folder}/{names[1]}": f"{used}\n"}
    files[f"{folder}/memory.stat"] = f"anon 7\n{cached}slab 9\n"


def test_without_a_statement_half_of_what_is_free_is_taken(system):
    system["available"] = 600_000 * 1024
    assert search_memory.search_memory() == 300_000 * 1024
    group(system, "/sys/fs/cgroup", limit="max", used=10)
    assert search_memory.search_memory() == 300_000 * 1024
    group(system, "/sys/fs/cgroup", limit=500 * MB, used=100 * MB)
    assert search_memory.search_memory() == 200 * MB


@pytest.mark.parametrize("version", [1, 2])
def test_cached_files_are_free_memory(system, version):
    mount = "/sys/fs/cgroup" if version == 2 else "/sys/fs/cgroup/memory"
    system["/proc/self/cgroup"] = "0::/\n" if version == 2 else "9:name=systemd:/x\n4:memory:/\n0::/\n"
    group(system, mount, limit=1000 * MB, used=990 * MB, stat=(300 * MB, 490 * MB), version=version)
    assert search_memory.free_memory() == 800 * MB


def test_the_tightest_of_the_groups_around_a_process_counts(system):
    system["/proc/self/cgroup"] = "0::/job/step\n"
    group(system, "/sys/fs/cgroup/job/step", limit="max", used=MB)
    group(system, "/sys/fs/cgroup/job", limit=700 * MB, used=100 * MB)
    group(system, "/sys/fs/cgroup", limit=9000 * MB, used=100 * MB)
    assert search_memory.free_memory() == 600 * MB
    group(system, "/sys/fs/cgroup/job/step", limit=300 * MB, used=100 * MB)
    assert search_memory.free_memory() == 200 * MB


def test_where_nothing_is_free_a_search_still_gets_64_mib(system):
    group(system, "/sys/fs/cgroup", limit=500 * MB, used=500 * MB)
    assert search_memory.free_memory() == 0
    assert search_memory.search_memory() == 64 * MB
