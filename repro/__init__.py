"""Reproducibility benchmark of dense-retrieval pre-training."""

__version__ = "0.2.0"
