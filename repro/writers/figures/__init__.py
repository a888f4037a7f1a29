"""Draw measured numbers. A CSV file next to each drawing has its numbers."""

from repro.writers.figures.charts import curves, scatter
from repro.writers.figures.views import SHADES, STEPS, passages, shade, shaded_text, shaded_words

__all__ = ["SHADES", "STEPS", "curves", "passages", "scatter", "shade", "shaded_text", "shaded_words"]
