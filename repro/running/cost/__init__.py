"""What a plan costs before it runs: work by formulas, hours by a measured or assumed throughput."""
