import pytest

from prototxt.errors import PrototxtError
from prototxt.schema import SolverState
from prototxt.wire import LENGTH, VARINT, Wire, signed


def test_fields_are_walked_with_their_places():
    content = SolverState(iter=300, learned_net="ab").SerializeToString()
    first, second = Wire(content, "f").fields()
    assert (first.number, first.kind, first.value) == (1, VARINT, 300)
    assert (second.number, second.kind) == (2, LENGTH)
    assert Wire(content, "f").text(second) == "ab"


def test_negative_numbers_are_restored():
    content = SolverState(iter=-5).SerializeToString()
    (field,) = Wire(content, "f").fields()
    assert signed(field.value) == -5


@pytest.mark.parametrize(
    ("content", "offset", "expected"),
    [
        (b"\x12\x05ab", 0, "field 2 says it has 5 bytes, but only 2 are left"),
        (b"\x08\x01\x80", 2, "ends within a number"),
        (b"\x00", 0, "field number 0"),
        (b"\x0f", 0, "wire type 7"),
        (b"\xff" * 11, 0, "more than 10 bytes"),
        (b"\x0d\x00\x00", 0, "says it has 4 bytes"),
    ],
)
def test_damage_is_reported_with_its_offset(content, offset, expected):
    with pytest.raises(PrototxtError, match=expected) as caught:
        list(Wire(content, "f").fields())
    assert caught.value.offset == offset
    assert str(caught.value).startswith(f"f, byte {offset}: ")
