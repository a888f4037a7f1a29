"""Reproducibility benchmark of dense-retrieval pre-training."""

__version__ = "0.1.0"
