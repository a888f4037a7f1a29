"""Tensors and modules that two papers share word for word. No hyper-parameter has a default here."""
