"""Ways to carry out a plan. Each is given nodes whose inputs are stored, and stores their artefacts."""
