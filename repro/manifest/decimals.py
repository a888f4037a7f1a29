"""The digits of stated numbers: how many stand after the point, and how far rounding to them may move."""

from decimal import ROUND_HALF_UP, Decimal


def decimals_of(value: Decimal) -> int:
    """Return the number of digits after the point with which a value is stated."""
    return max(0, -int(value.as_tuple().exponent))


def half_unit(decimals: int) -> Decimal:
    """Return half a unit of the last of so many digits: the farthest that rounding to them goes."""
    return Decimal(5).scaleb(-decimals - 1)


def half_up(value: Decimal, decimals: int) -> Decimal:
    """Round a value to so many digits after the point, halves away from zero."""
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def shift_point(value: Decimal | str, digits: int) -> Decimal:
    """Move the point of a number to the right, or left where negative; no exponent is left to be shown."""
    number = Decimal(value).scaleb(digits)
    return number.quantize(Decimal(1)) if int(number.as_tuple().exponent) > 0 else number


def percent(value: Decimal, unit: str) -> Decimal:
    """Return a number of a cell in percent; of another unit than a fraction or percent, as it is."""
    return shift_point(value, 2) if unit == "fraction" else value


def are_apart(one: Decimal, half: Decimal, other: Decimal, other_half: Decimal) -> bool:
    """Return whether two stated numbers, each with half a unit of its last digit, cannot be of one number.

    Those of equal precision are compared by their digits, others are apart where their roundings part.
    """
    return one != other if half == other_half else abs(one - other) > half + other_half
