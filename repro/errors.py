"""The errors that a user can act on, each with its exit status.

ReproError
├── UsageError      2   a name, option or value is invalid
├── ManifestError   2   a cells.yaml or readings.yaml is broken, with file and line
├── DataError       2   a collection, run or qrels file is malformed, with file and line
├── StoreError      2   the store cannot be opened or written, or an artefact is damaged or in use
├── StageError      3   a stage failed, with the path of its log
└── BlockedError    4   data, a licence or a component is missing, with instructions

Exit status 1 is no error: a verdict did not pass under ``--strict``, or ``verify --deep`` found a difference.
"""

import re
from collections.abc import Sequence

SHOWN = 10
LONGEST = 80  # characters of foreign text
# control and invisible characters, and the begin of a workflow's command, e.g. ``::error::``
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]|(?<!\\S):(?=:)|#(?=#\\[)"
)
_PLAIN = re.compile(r"[\w.@/+-]+")
_LONG = re.compile(r"(?<!\w)(['\"])(?:(?!\1).){200,}\1|\S{200,}")


def visible(text: object) -> str:
    r"""Return text on one line with control and invisible characters escaped, e.g. ``a\nb``."""
    return _UNSAFE.sub(_escape, str(text))


def _escape(sign: re.Match) -> str:
    code = sign[0].encode("unicode_escape").decode()
    return code if code != sign[0] else f"\\x{ord(code):x}"


def shortened(text: object) -> str:
    """Return visible text. Text of more than ``LONGEST`` characters is cut and ends with "…"."""
    shown = visible(text)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def one_line(text: object) -> str:
    """Return visible text with words and quotations of 200 or more characters shortened."""
    return _LONG.sub(lambda long: f"{long[0][:LONGEST]}…{long[0][-LONGEST:]}", visible(text))


def first_of(names: Sequence[object], most: int) -> str:
    """Join the first ``most`` names, e.g. "a, b and 3 more"."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + rest


class ReproError(Exception):
    """An error for the user, printed as one sentence without a traceback."""

    exit_status = 2


class UsageError(ReproError):
    """A name, option or value of the user is invalid."""


class ManifestError(ReproError):
    """A manifest is broken. The message begins with ``file:line``."""


class DataError(ReproError):
    """A data file is malformed. The message begins with ``file:line`` if one line is wrong."""


class StoreError(ReproError):
    """The store or results folder is unusable, or an artefact is damaged or in use."""


class StageError(ReproError):
    """A stage ran and failed."""

    exit_status = 3


class BlockedError(ReproError):
    """Data, a licence or a component is missing. ``remedy`` is an instruction to the user."""

    exit_status = 4

    def __init__(self, cause: str, remedy: str):
        super().__init__(f"{cause}; {remedy}")
        self.cause = cause
        self.remedy = remedy


def unknown(kind: str, name: object, valid, *, owner: str = "", hint: str = "") -> UsageError:
    """Return a UsageError with the nearest valid names, at most ``SHOWN``.

    For example, ``unknown("table", "9", ["1"], owner="PAPER")`` is "PAPER has no table 9. Its tables: 1."
    """
    import difflib

    names, wanted = [str(v) for v in valid], str(name).lower()
    lower = {n.lower(): n for n in names}
    near = [n for n in names if n.lower().endswith(f".{wanted}")]
    near = near or [lower[n] for n in difflib.get_close_matches(wanted, lower, n=1)]
    shown_names = [*dict.fromkeys([*near, *names])][:SHOWN] if len(names) > SHOWN else names
    others = f" … and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    quoted = str(name) if owner and _PLAIN.fullmatch(str(name)) else repr(str(name))
    text, label = f"{quoted} is not a known {kind}.", "Known"
    if owner:
        text, label = f"{owner} has no {kind} {quoted}.", f"Its {kind}s"
    if near:
        text += f" Did you mean {' or '.join(near[:SHOWN])}?"
    text += f" {label}: {', '.join(shown_names) or 'none'}{others}."
    return UsageError(f"{text} {hint}".rstrip())


def check_known(kind: str, *names: object, valid, **details: str) -> None:
    """Raise the error of ``unknown`` for the first name that is not in ``valid``."""
    for name in names:
        if name not in valid:
            raise unknown(kind, name, valid, **details)
