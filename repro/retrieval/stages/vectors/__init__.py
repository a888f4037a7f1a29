"""Vectors and ids on disk, dense and sparse, and the memory that a search over them may hold."""
