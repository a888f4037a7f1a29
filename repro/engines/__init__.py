"""Ways to carry out a plan. Each is given nodes whose inputs are stored, and leaves artefacts in the store."""
