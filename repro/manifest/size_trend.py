"""The shape of a figure's trend: the sizes that its methods are fitted over, and a larger one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from repro.manifest.yaml_file import StrictMapping

Positive = Annotated[float, Field(gt=0)]


class LargerSize(StrictMapping):
    """The larger size that a trend is extrapolated to."""

    x: Positive
    across: Positive


class SizeTrend(StrictMapping):
    """The regression of each method's difference to a reference on the logarithms of two sizes.

    Attributes:
        reference: the method that the others are compared with.
        across: the option of its lines that is the second size, beside the x-axis.
        to: a larger size.
    """

    reference: str
    across: str
    to: LargerSize

    def check(self, lines: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Raise ValueError where the lines, each a method and its options, do not have what this names."""
        methods = dict.fromkeys(method for method, _ in lines)
        if self.reference not in methods:
            names = ", ".join(methods) or "none"
            raise ValueError(f"trend: {self.reference!r} is the method of no line ({names})")
        missing = [method for method, options in lines if self.across not in options]
        if missing:
            raise ValueError(f"trend: a line of {missing[0]} has no option {self.across!r}")
