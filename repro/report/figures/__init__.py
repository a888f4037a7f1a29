"""Drawings of what was measured: equal data give equal bytes, and lie as CSV beside the drawing."""

from repro.report.figures.candidate_maps import scatter
from repro.report.figures.line_charts import curves
from repro.report.figures.passage_lists import passages
from repro.report.figures.shading import SHADES, STEPS, shade, shaded_text, shaded_words

__all__ = ["SHADES", "STEPS", "curves", "passages", "scatter", "shade", "shaded_text", "shaded_words"]
