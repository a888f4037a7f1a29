"""Drawings of what was measured: equal data give equal bytes, and lie as CSV beside the drawing."""

from repro.writers.figures.charts import curves, scatter
from repro.writers.figures.views import SHADES, STEPS, passages, shade, shaded_text, shaded_words

__all__ = ["SHADES", "STEPS", "curves", "passages", "scatter", "shade", "shaded_text", "shaded_words"]
