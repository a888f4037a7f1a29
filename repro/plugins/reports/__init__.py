"""Values that others report for published cells, with their sources, from papers/*/others.yaml."""
