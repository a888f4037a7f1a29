"""Tells ids that are written otherwise than the judged ones, with a part too much or too little."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_NUMBERS = re.compile(r"[0-9]+")
_NAME_AND_NUMBERS = re.compile(r"[^0-9]*9([^0-9A-Za-z]9)*")
_MANY = 100
_PARTS = (  # what is left of an id without its first or last part
    re.compile(r"(.+?)[^0-9A-Za-z]+[0-9A-Za-z]*"),
    re.compile(r"[0-9A-Za-z]*[^0-9A-Za-z]+(.+)"),
    re.compile(r"[^0-9]*0*([0-9]+)"),
    re.compile(r"([0-9]+)[^0-9].*"),
)


def common_form(ids: Collection[str]) -> re.Pattern | None:
    """Return the pattern of ids that are numbers, or of many that are a name and numbers, as ``D123``.

    None for any others: a collection may have ids that are not like the few that are judged.
    """
    shapes = {_NUMBERS.sub("9", identifier) for identifier in ids}
    shape = shapes.pop() if len(shapes) == 1 else ""
    is_form = shape == "9" or (len(ids) >= _MANY and _NAME_AND_NUMBERS.fullmatch(shape))
    return re.compile(re.escape(shape).replace("9", "[0-9]+")) if is_form else None


def shortened(identifier: str) -> Iterator[str]:
    """Yield the id without a part, as ``123`` of ``D123``, ``doc:123``, ``123#0``, ``123.0`` and ``0123``."""
    if identifier.isdecimal() and identifier[0] != "0":
        return
    for pattern in _PARTS:
        match = pattern.fullmatch(identifier)
        if match and match[1] != identifier:
            yield match[1]


def first_without(form: re.Pattern | None, ids: Sequence[str]) -> str | None:
    """Return the first of the ids that has another form, where there is one that all should have."""
    if form is None or re.fullmatch(
        f"(?:{form.pattern}\n)*", "\n".join(ids) + "\n"
    ):  # one search of all is much faster
        return None
    return next(identifier for identifier in ids if not form.fullmatch(identifier))


def difference(identifier: str, known: Iterable[str]) -> str | None:
    """Return in words what an id has too much or too little to be one of the known ones, or of their form."""
    ids = sorted(known)
    form, own_form = common_form(ids), common_form([identifier])  # the latter of a number alone
    for short in shortened(identifier):
        if short in ids or (form and form.fullmatch(short)):
            return f"the part {_rest(identifier, short)!r} is too much"
    for longer in ids:
        for short in shortened(longer):
            if short == identifier or (own_form and own_form.fullmatch(short)):
                return f"it lacks {_rest(longer, short)!r}, as in {longer!r}"
    return None


def misspelt(ids: Iterable[str], known: Mapping[str, object]) -> list[str]:
    """Return those of the ids that are none of the known ones but for a part too much or too little."""
    longer = {short for identifier in known for short in shortened(identifier)}
    return [
        identifier
        for identifier in ids
        if identifier not in known
        and (identifier in longer or any(short in known for short in shortened(identifier)))
    ]


def _rest(longer: str, shorter: str) -> str:
    before, _, after = longer.partition(shorter)
    return " … ".join(filter(None, (before, after)))
