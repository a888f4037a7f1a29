"""Stand-ins for the papers' data, invented but in the real formats and under the real names.

``python -m tests.standins DIR`` makes ``DIR/home`` of ir_datasets and ``DIR/data`` for REPRO_DATA.
"""
