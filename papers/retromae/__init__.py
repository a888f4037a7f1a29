"""RetroMAE: a decoder that sees few tokens reconstructs a masked text from its [CLS] vector."""
