"""The bodies of the stages, a module each; their inputs and outputs are declared in ``repro.stage_table``."""
