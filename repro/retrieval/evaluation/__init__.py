"""Run files, judgements, per-query scores and tests between systems, without a paper or a verdict."""
