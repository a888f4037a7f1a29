"""Collections, e.g. ``beir/scifact``: their catalogue, file locations and readers, and the small embedded
collections."""
