"""Tensors and modules that papers share. No hyper-parameter has a default here."""
