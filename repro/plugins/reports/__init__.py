"""Others' measurements of the same cells, with their sources. The YAML files are papers/*/others.yaml (read
by ``reports``)."""
