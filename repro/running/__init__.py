"""From selected cells to artefacts: measurements, plans, scales, requirements, cost, and the engines."""
