"""Collections, e.g. ``beir/scifact``: catalogue, file locations, readers and embedded collections."""
