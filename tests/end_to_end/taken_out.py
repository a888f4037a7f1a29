"""Guarantees of store and records, each taken out of the suite."""

import contextlib
import json

import pytest

from repro.retrieval.datasets import digests
from repro.running.measurement import MeasurementBuilder
from repro.store import results
from repro.store.results import AppendedRecord, Record
from repro.verdicts import comparison, evidence


def _only_new_keys(group, newest):
    for record in group:
        if record.key not in newest:
            newest[record.key] = record
            yield AppendedRecord(record, None)


def a_newer_result_counts(patch: pytest.MonkeyPatch) -> None:
    """A record of equal key is dropped, and records are held against no scores."""
    patch.setattr(results, "_new_records", _only_new_keys)
    patch.setattr(comparison, "stored_records", lambda *_, **__: [])


def measure_and_unit_belong_to_a_record(patch: pytest.MonkeyPatch) -> None:
    """Records of one evaluation are one, whatever was read from it."""

    def current(self):
        asked = {fingerprint for fingerprint, _, _ in self.identities.values()}
        return [(r, None) for r in evidence.newest(r for r in self.of_readings if r.fingerprint in asked)]

    def key(self):
        return self.cell, self.scale, self.seed, self.fingerprint, tuple(sorted(self.readings.items()))

    patch.setattr(evidence.Evidence, "current", property(current))
    patch.setattr(Record, "key", property(key))


def readings_belong_to_a_record(patch: pytest.MonkeyPatch) -> None:
    """Records of two readings of one evaluation are one, and a choice that changes nothing is a departure."""
    patch.setattr(Record, "key", property(lambda self: (self.cell, self.scale, self.seed, *self.identity)))
    patch.setattr(MeasurementBuilder, "_effective", lambda self, departures, *_: dict(departures))


def stages_look_at_their_data(patch: pytest.MonkeyPatch) -> None:
    """A stage takes whatever lies where its data were planned to lie."""
    patch.setattr(digests, "unchanged", lambda *_: contextlib.nullcontext())


def digests_are_of_the_files_of_now(patch: pytest.MonkeyPatch) -> None:
    """A file of equal size and time is taken for the file that was read."""

    def stamp(path):
        status = path.stat()
        return [status.st_size, status.st_mtime_ns]

    patch.setattr(digests, "_stamp", stamp)


def records_prove_themselves(patch: pytest.MonkeyPatch) -> None:
    """A line of records is believed."""

    def believed(line):
        content = json.loads(line)
        content.pop(results.DIGEST, None)
        return results._validate(content)

    patch.setattr(results, "record_of", believed)


GUARANTEES = [
    a_newer_result_counts,
    measure_and_unit_belong_to_a_record,
    readings_belong_to_a_record,
    stages_look_at_their_data,
    digests_are_of_the_files_of_now,
    records_prove_themselves,
]
