"""The language of ``expect``: allowed, refused and unanswered expressions."""

from decimal import Decimal

import pytest

from repro.plugins.statements.claims import Evaluation, MissingNumber, fault


def _of(text, **functions):
    def v(path):
        if path == "absent":
            raise MissingNumber("absent")
        return Decimal(path)

    said = []
    return Evaluation({"v": v, **functions}, Decimal, said.append).of(text), said


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "v.__class__",
        "v('1').real",
        "[x for x in v('1')]",
        "lambda: 1",
        "v(*['1'])",
        "v(**{'a': 1})",
        "v",
        "True",
        "None",
        "f'{v(1)}'",
        "1 if v('1') else 2",
        "v('1') ** 9",
        "v('1')[0]",
        "(v := 1)",
        "v('1') is 1",
        "",
        "v('1'",
    ],
)
def test_what_is_outside_the_language_is_named(text):
    assert fault(text)


def test_python_decides_the_value_of_every_allowed_expression():
    sums = ["1 + 2 * 3 - 4 / 8 == 6.5", "1 < 2 < 3", "1 < 3 < 2"]
    for text in [*sums, "not 1 > 2 or 2 > 3", "-1 < 0 and 2 != 3"]:
        assert fault(text) is None
        assert _of(text)[0] is eval(text), text


def test_numbers_are_decimal_so_that_tenths_are_exact():
    assert _of("v('0.3') - v('0.1') == 0.2")[0] is True
    assert 0.3 - 0.1 != 0.2


def test_ends_of_lines_inside_an_expression_do_not_matter():
    text = "v('1') < 2\nand v('2')\n   < 3"
    assert fault(text) is None and _of(text)[0] is True


@pytest.mark.parametrize(
    ("text", "value"), [("v('absent') > 1 and 1 > 2", False), ("v('absent') > 1 or 2 > 1", True)]
)
def test_a_missing_value_does_not_matter_where_the_rest_decides(text, value):
    assert _of(text)[0] is value


@pytest.mark.parametrize("text", ["v('absent') > 1", "v('absent') > 1 and 2 > 1", "v('absent') > 1 or 1 > 2"])
def test_a_missing_value_that_matters_leaves_the_question_open(text):
    with pytest.raises(MissingNumber):
        _of(text)


def test_every_comparison_that_fails_is_told():
    assert _of("1 > 2 and 3 > 4") == (False, ["1 > 2 does not hold", "3 > 4 does not hold"])
