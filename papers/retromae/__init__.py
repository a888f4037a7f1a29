"""RetroMAE: a masked text is rebuilt from its [CLS] vector by a decoder that sees little else."""
