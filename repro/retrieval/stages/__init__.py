"""The implementations of the stages, one module each. Their inputs and outputs are declared in
``repro.stage_table``."""
