"""The checks of a manuscript that need no recipe: each yields findings, or nothing where it cannot apply."""
