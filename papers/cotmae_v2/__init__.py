"""CoT-MAE v2: dense and sparse views pre-trained through auto-encoding and auto-regressive decoders."""
