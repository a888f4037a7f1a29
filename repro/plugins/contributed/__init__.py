"""Records that other people measured with this suite, e.g. ``results/contributed/jane.jsonl``."""
