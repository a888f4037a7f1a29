"""Notes of nodes: what was asked for, and when."""

import os
import time

from repro.graph import Node
from repro.store import notes


def test_what_a_run_asked_for_within_so_many_days_is_known_and_what_is_older_is_not(tmp_path):
    nodes = {days: Node("corpus", {"dataset": f"asked for {days} days ago"}) for days in (0.5, 2, 6, 8)}
    notes.write_notes(tmp_path, nodes.values())
    for days, node in nodes.items():
        [note] = [path for path in notes.files(tmp_path) if path.stem == node.fingerprint]
        moment = time.time() - days * 24 * 60 * 60
        os.utime(note, (moment, moment))
    for within, asked in {1: (0.5,), 3: (0.5, 2), 7: (0.5, 2, 6), 0.25: ()}.items():
        assert notes.planned_since(tmp_path, days=within) == {nodes[days].fingerprint for days in asked}


def test_a_note_of_another_user_is_written_anew_to_have_the_time_of_now(tmp_path, monkeypatch):
    node = Node("corpus", {"dataset": "x"})
    notes.write_notes(tmp_path, [node])
    [note] = notes.files(tmp_path)
    os.utime(note, (0, 0))

    def refused(path):
        raise PermissionError(path)

    monkeypatch.setattr(os, "utime", refused)
    notes.write_notes(tmp_path, [node])
    assert notes.files(tmp_path) == [note]
    assert notes.planned_since(tmp_path, days=1) == {node.fingerprint}
