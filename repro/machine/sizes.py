"""Sizes as people write them."""

import re

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of(size: str) -> int | None:
    """``1GB``, ``1.5 GiB`` or ``1000000`` in bytes; None for what is no positive size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", size.strip())
    if match and match[2].upper() in UNITS:
        return int(float(match[1]) * UNITS[match[2].upper()]) or None
    return None


def size_in_words(size: float) -> str:
    """A number of bytes in GB, a small one in MB."""
    return f"{size / 1e9:,.1f} GB" if size >= 5e7 else f"{size / 1e6:,.1f} MB"
