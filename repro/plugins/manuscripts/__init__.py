"""Papers' sources: their tables are read, drafted as a manifest, and audited, e.g. by ``repro audit
paper.tex``."""
