"""RetroMAE: a decoder that sees little rebuilds a masked text from its [CLS] vector."""
