"""The collections: what they are (catalog), where they lie (sources), how they are read, and small ones."""
