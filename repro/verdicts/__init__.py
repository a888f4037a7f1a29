"""Judgements on a measured number."""
