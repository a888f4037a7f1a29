"""The way from selected cells to artefacts: measurements, plans, scales, engines."""
