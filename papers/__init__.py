"""The papers under reproduction, one folder each, and their shared baselines, e.g. ``papers.baselines``."""
