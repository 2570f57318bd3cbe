import math

import pytest

from prototxt import values
from prototxt.schema import enum
from prototxt.tokens import tokenize


def token(text):
    return tokenize(text)[0]


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("12", 12), ("0x1F", 31), ("017", 15)]
)
def test_whole_numbers_are_decimal_hexadecimal_or_octal(text, value):
    assert values.integer(token(text), False, "int32") == value


@pytest.mark.parametrize("text", ["1.0", "1e3", "08", "cls3x", "three", '"3"', "0x"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(ValueError, match="expected a whole number"):
        values.integer(token(text), False, "int32")


@pytest.mark.parametrize(
    ("kind", "text", "negative"),
    [
        ("int32", "2147483648", False),
        ("uint32", "1", True),
        ("uint32", "4294967296", False),
        ("int64", "9223372036854775808", False),
    ],
)
def test_a_number_that_does_not_fit_its_type_is_refused(kind, text, negative):
    with pytest.raises(ValueError, match=f"does not fit {kind}"):
        values.integer(token(text), negative, kind)


def test_the_smallest_number_fits():
    assert values.integer(token("2147483648"), True, "int32") == -(2**31)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), (".5", 0.5), ("5.", 5.0), ("1e-3", 0.001), ("2f", 2.0), ("1.5F", 1.5)],
)
def test_real_numbers_have_all_forms_of_c(text, value):
    assert values.real(token(text), False, "float") == value


def test_infinity_and_nan_are_words():
    assert values.real(token("inf"), True, "float") == -math.inf
    assert values.real(token("Infinity"), False, "float") == math.inf
    assert math.isnan(values.real(token("NaN"), False, "float"))


@pytest.mark.parametrize("text", ["0x10", "010", "1.2.3", "abc", '"1"'])
def test_what_is_no_real_number_is_refused(text):
    with pytest.raises(ValueError, match="expected a"):
        values.real(token(text), False, "float")


@pytest.mark.parametrize("text", ["true", "True", "t", "1"])
def test_true_has_four_forms(text):
    assert values.boolean(token(text)) is True


@pytest.mark.parametrize("text", ["false", "False", "f", "0"])
def test_false_has_four_forms(text):
    assert values.boolean(token(text)) is False


@pytest.mark.parametrize("text", ["yes", "2", "TRUE", '"true"'])
def test_other_truth_values_are_refused(text):
    with pytest.raises(ValueError, match="expected true or false"):
        values.boolean(token(text))


def test_an_enum_is_given_by_name_or_number():
    pools = enum("PoolingParameter.PoolMethod")
    assert values.enum_number(token("AVE"), False, pools) == 1
    assert values.enum_number(token("2"), False, pools) == 2


def test_an_unknown_enum_value_gets_the_nearest_and_the_known_ones():
    with pytest.raises(ValueError, match="did you mean AVE") as caught:
        values.enum_number(token("AVG"), False, enum("PoolingParameter.PoolMethod"))
    assert "(known: MAX, AVE, STOCHASTIC)" in str(caught.value)


def test_an_enum_in_quotes_is_said_to_be_one():
    with pytest.raises(ValueError, match="expected TRAIN without quotes"):
        values.enum_number(token('"TRAIN"'), False, enum("Phase"))


def test_strings_are_unescaped_and_joined():
    strings = tokenize(r'"a\n\x41\101" ' + r"'\'\\\u00e9'")[:-1]
    assert values.text_string(strings) == "a\nAA'\\é"


def test_a_windows_path_with_single_backslashes_is_refused():
    with pytest.raises(ValueError, match="a backslash is written twice"):
        values.text_string([token(r'"C:\data"')])


def test_a_string_that_is_not_utf8_is_refused():
    latin = tokenize(b'"caf\xe9"'.decode("utf-8", "surrogateescape"))[0]
    with pytest.raises(ValueError, match="not UTF-8"):
        values.text_string([latin])
