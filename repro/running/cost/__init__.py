"""The cost of a plan before it runs: work by formulas, hours by a measured or assumed throughput."""
