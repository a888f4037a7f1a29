"""The cost of a plan before it runs."""
