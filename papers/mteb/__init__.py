"""MTEB: zero-shot retrieval by released sentence encoders."""
