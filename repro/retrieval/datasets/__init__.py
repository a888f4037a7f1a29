"""Collections, e.g. ``beir/scifact``: catalogue, file locations, readers, and small embedded ones."""
