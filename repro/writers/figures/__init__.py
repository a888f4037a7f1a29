"""Drawings of what was measured: equal data give equal bytes, and lie as CSV beside the drawing."""

from repro.writers.figures.candidate_maps import scatter
from repro.writers.figures.line_charts import curves
from repro.writers.figures.passage_lists import passages
from repro.writers.figures.shading import SHADES, STEPS, shade, shaded_text, shaded_words

__all__ = ["SHADES", "STEPS", "curves", "passages", "scatter", "shade", "shaded_text", "shaded_words"]
