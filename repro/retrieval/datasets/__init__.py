"""Collections, e.g. ``beir/scifact``: their catalogue, file locations and readers, and small embedded
ones."""
