from __future__ import annotations

import pytest

from repro import memory
from repro.errors import UsageError


@pytest.mark.parametrize(
    ("size", "expected"),
    [("1GB", 10**9), ("1.5 GiB", 3 * 2**29), ("800mb", 8 * 10**8), ("1000000", 10**6), ("12B", 12)],
)
def test_a_stated_size_is_in_bytes(monkeypatch, size, expected):
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", size)
    assert memory.search_memory() == expected


@pytest.mark.parametrize("size", ["much", "1 GBs", "-1GB", "0", "0.1B", "1e9"])
def test_what_is_no_size_is_refused_with_an_example(monkeypatch, size):
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", size)
    with pytest.raises(UsageError, match=f"REPRO_SEARCH_MEMORY is '{size}', .*like 1GB"):
        memory.search_memory()


def test_without_a_statement_half_of_what_is_free_is_taken(monkeypatch):
    monkeypatch.delenv("REPRO_SEARCH_MEMORY", raising=False)
    files = {"/proc/meminfo": "MemTotal: 900 kB\nMemAvailable:      600 kB\n"}
    monkeypatch.setattr(memory, "_text", lambda path: files.get(path, ""))
    assert memory.search_memory() == 300 * 1024
    files |= {"/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory.current": "10\n"}
    assert memory.search_memory() == 300 * 1024
    files["/sys/fs/cgroup/memory.max"] = "1010\n"
    assert memory.search_memory() == 500
    files.clear()
    assert memory.search_memory() == 2**30
