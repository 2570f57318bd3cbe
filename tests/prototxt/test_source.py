import pytest

from prototxt.source import Source


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end):
    source = Source(f"a{end}b{end}c", "f")
    offset = source.text.index("c")
    fault = source.fault(offset, "here")
    assert (fault.line, fault.column, fault.source) == (3, 1, "c")


def test_of_a_long_line_only_the_part_around_is_shown():
    source = Source("x" * 500 + "!" + "y" * 500, "f")
    fault = source.fault(500, "here")
    assert fault.column == 501
    assert len(fault.source) < 200
    assert fault.source[fault.caret] == "!"
