"""The way from selected cells to artefacts: measurements, plans, scales, requirements, cost, engines."""
