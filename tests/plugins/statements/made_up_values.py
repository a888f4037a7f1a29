"""Measurements made up for claims."""

from repro.plugins.statements.claims import MissingNumber, format_value


class MadeUp:
    """Numbers by ``row/column``, tests by pair of rows, lists over seeds, numbers beside drawings."""

    is_published = is_stated = False

    def __init__(self, numbers, tests=(), seeds=(), drawings=()):
        self.numbers, self.tests = numbers, dict(tests)
        self.seeds, self.drawings = dict(seeds), dict(drawings)
        self.doubted = set()

    def number(self, cell):
        return _known(self.numbers, f"{cell.row.id}/{cell.column.id}")

    def shown(self, cell):
        return format_value(self.number(cell))

    def check_order(self, one, other):
        pass

    def why_untested(self, cell):
        return "no test between its rows is stored"

    def p(self, one, other):
        return self.tests.get((one.row.id, other.row.id))

    def over_seeds(self, cell):
        return _known(self.seeds, f"{cell.row.id}/{cell.column.id}")

    def drawn(self, shown, fact):
        return _known(self.drawings, (shown, fact))


def _known(values, key):
    if key not in values:
        raise MissingNumber(f"{key} is not measured")
    return values[key]
