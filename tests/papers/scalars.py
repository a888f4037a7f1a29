"""Numbers that remember what they come from, so that equations written over scalars have a gradient."""

import math


class Number:
    """A float64 with the numbers it was computed from and its slope with respect to each of them."""

    def __init__(self, value, parents=()):
        self.value, self.parents, self.gradient = float(value), parents, 0.0

    def __add__(self, other):
        return Number(self.value + value(other), _of((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        return Number(self.value * value(other), _of((self, value(other)), (other, self.value)))

    def __truediv__(self, other):
        return self * power(other, -1.0)

    def __rtruediv__(self, other):
        return power(self, -1.0) * other

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


def _of(*pairs):
    return tuple((parent, slope) for parent, slope in pairs if isinstance(parent, Number))


def value(number):
    """The float behind a number, which is also what is left when the gradient is cut off."""
    return number.value if isinstance(number, Number) else float(number)


def power(number, exponent):
    x = value(number)
    return Number(x**exponent, _of((number, exponent * x ** (exponent - 1.0))))


def exp(number):
    y = math.exp(value(number))
    return Number(y, _of((number, y)))


def log(number):
    x = value(number)
    return Number(math.log(x), _of((number, 1.0 / x)))


def sqrt(number):
    y = math.sqrt(value(number))
    return Number(y, _of((number, 0.5 / y)))


def tanh(number):
    y = math.tanh(value(number))
    return Number(y, _of((number, 1.0 - y * y)))


def erf(number):
    x = value(number)
    return Number(math.erf(x), _of((number, 2.0 / math.sqrt(math.pi) * math.exp(-x * x))))


def numbers(nested):
    """Lists of lists of floats as lists of lists of numbers."""
    return [numbers(part) for part in nested] if isinstance(nested, list) else Number(nested)


def gradients(nested):
    """The gradients of lists of lists of numbers, in the same lists."""
    return [gradients(part) for part in nested] if isinstance(nested, list) else nested.gradient


def backward(result):
    """Adds to every number behind `result` the derivative of `result` with respect to it."""
    ordered, seen, stack = [], set(), [(result, False)]
    while stack:
        number, done = stack.pop()
        if done:
            ordered.append(number)
        elif id(number) not in seen:
            seen.add(id(number))
            stack.append((number, True))
            stack.extend((parent, False) for parent, _ in number.parents)
    result.gradient = 1.0
    for number in reversed(ordered):
        for parent, slope in number.parents:
            parent.gradient += slope * number.gradient
