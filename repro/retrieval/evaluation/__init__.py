"""Run files, judgements, per-query scores and tests between systems."""
