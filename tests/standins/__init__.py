"""Stand-ins for the papers' data, invented but in the real formats and under the real names.

``python -m tests.standins DIR`` makes ``DIR/home``, a home of ir_datasets as its downloads leave it, and
``DIR/data``, a folder for REPRO_DATA, which `repro data fetch` fills from that home without a network. Each
module makes a family of files. Equal seeds and sizes give equal bytes.
"""
