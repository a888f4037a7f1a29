"""Whether a plan at scale full follows what the paper and its released scripts state."""
