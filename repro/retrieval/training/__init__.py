"""The training loop and its components."""
