"""Read, draft and audit tables of papers' sources, e.g. ``repro audit paper.tex``."""
