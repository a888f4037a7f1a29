"""The code of the stages, one module each, e.g. ``encode``.

``run(params, inputs, out, progress)`` reads the folders ``inputs``, writes only into ``out`` and returns
facts for the artefact's record. Long stages keep finished parts in ``out/blocks`` for a resumed attempt, and
some divide them among shards. Stages raise UsageError for an invalid parameter, BlockedError for a missing
requirement, DataError for malformed, incomplete, changed or empty input, and StageError for a number that is
not finite. Readers of a collection have the parameters ``dataset``, ``source`` (JSON), ``identity`` and
optionally ``first`` (rows to read). In a rehearsal the inputs ``queries`` and ``corpus`` are for
``FirstRows``.
"""
