"""Statements that cells can confirm, judged by the paper's own numbers first, then by our measurements."""
