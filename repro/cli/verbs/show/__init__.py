"""``repro show``: papers, tables, cells, and views of what is known of them."""

from repro.cli.groups import views

command = views(
    "show",
    {
        "cells": "every numeric result cell",
        "readings": "the unspecified choices of a paper, and what may be chosen",
        "coverage": "what is measured, what could be and how, and what cannot be",
    },
    default="page",
    epilog="""\b
Examples:
  repro show                          papers, tables, figures
  repro show PAPER --table 1          a table as published
  repro show PAPER/1/bm25/dev.rr10    all that is known of a cell
  repro show readings PAPER           what the paper leaves open
  repro show PAPER --table figure-4   what a figure plots""",
)
