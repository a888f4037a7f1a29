"""Others' measurements of published cells, with their sources, from papers/*/others.yaml."""
