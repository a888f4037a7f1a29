"""Prints any text with each word shaded by the decoder's weight (§4.4, Table 4), for any saved model.

For example, ``python -m papers.cpdae.shade_text MODEL_FOLDER "any text"``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from papers.cpdae.word_distribution import SHOWN, view
from repro.errors import ReproError
from repro.writers.figures import shaded_text


def main(arguments: Sequence[str]) -> int:
    """Run ``python -m papers.cpdae.shade_text MODEL_FOLDER TEXT`` and return the exit status."""
    from rich.console import Console

    parser = argparse.ArgumentParser(prog="python -m papers.cpdae.shade_text", description=__doc__)
    parser.add_argument("folder", metavar="MODEL_FOLDER", type=Path)
    parser.add_argument("text", metavar="TEXT")
    parser.add_argument("--shown", choices=SHOWN, default="sigmoid", help="values to show (default: sigmoid)")
    parser.add_argument("--length", type=int, default=512, help="tokens of the text (default: 512)")
    chosen = parser.parse_args(arguments)
    try:
        words = view(chosen.folder, chosen.text, shown=chosen.shown, length=chosen.length)
    except ReproError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    Console().print(shaded_text(words))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
