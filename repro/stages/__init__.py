"""The bodies of the stages, a module each; what they take and give is declared in ``repro.stage_table``."""
