"""A peak of memory is that since it began, where the kernel lets it begin anew."""

import subprocess
import sys

from repro.machine import system
from repro.machine.system import PeakMemory

HOLD_AND_LET_GO = """
from repro.machine.system import PeakMemory

before = PeakMemory().kib()
held = bytearray(200_000_000)
held[::4096] = b"x" * len(held[::4096])
whole = PeakMemory().kib()
del held
print(before, whole, PeakMemory().kib())
"""


def test_a_peak_is_that_since_it_began():
    # a process of its own: in one with threads, another may free memory just as the peak begins anew
    ran = subprocess.run([sys.executable, "-c", HOLD_AND_LET_GO], capture_output=True, text=True, check=True)
    before, whole, after = map(int, ran.stdout.split())
    assert whole > before + 150_000
    assert after < whole - 150_000


def test_where_a_peak_cannot_begin_anew_it_is_that_of_the_process(monkeypatch, tmp_path):
    monkeypatch.setattr(system, "CLEAR", tmp_path / "there is none" / "clear_refs")
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t  1234 kB\nVmRSS:\t  1000 kB\n")
    monkeypatch.setattr(system, "STATUS", status)
    assert PeakMemory().kib() == 1234


def test_without_the_kernel_s_status_it_is_what_the_process_used_at_most(monkeypatch, tmp_path):
    monkeypatch.setattr(system, "CLEAR", tmp_path / "there is none" / "clear_refs")
    monkeypatch.setattr(system, "STATUS", tmp_path / "nor this")
    peak = PeakMemory().kib()
    assert peak > 10_000
    monkeypatch.setattr(system.sys, "platform", "darwin")  # whose system counts bytes
    assert PeakMemory().kib() < peak // 100
