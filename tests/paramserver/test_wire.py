import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import messages as m
from geeps_caffe.paramserver.wire import FrameReader, write_frame

EXAMPLES = [
    m.Hello(1, 2, 3, 4),
    m.Propose('{"tables": ["ä"]}'),
    m.Granted(5 << 30, 1, 2, 3),
    m.Refused("no"),
    m.Push(1, 2**40, 3, 0.1, 64.0),
    m.Close(7, 3),
    m.Fresh(2, -1),
    m.Pull(0, 9),
    m.Copied(0, 9),
    m.Flags(4, 1 << 40),
    m.Publish((0, 3)),
    m.Published(),
    m.Gather(4),
    m.Gathered(),
    m.Clipped(3, 2.5),
    m.Meet(3, (0.5, 1.5), (4, 5, 6)),
    m.Meet(3, (), ()),
    m.Met((0.5,), ((4, 0), (5, 1))),
    m.Met((), ()),
    m.Beat(),
    m.Waiting("for rank 3"),
    m.Missing("rank 3"),
    m.Lost("rank 3"),
    m.Bye(),
]


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda m: type(m).__name__)
def test_a_message_survives_the_wire(message):
    assert list(FrameReader().feed(write_frame(message))) == [message]


def test_all_kinds_of_message_have_an_example():
    assert {type(e) for e in EXAMPLES} == set(m.Message.__args__)


def test_messages_are_cut_from_bytes_that_come_in_any_portions():
    stream = b"".join(map(write_frame, EXAMPLES))
    for portion in (1, 7, 64, len(stream)):
        reader, found = FrameReader(), []
        for start in range(0, len(stream), portion):
            found += reader.feed(stream[start : start + portion])
        assert found == EXAMPLES


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\0\0\0\0", "kind 255"),
        (b"\0\xff\xff\xff\xff", "4294967295 bytes is not of protocol"),
        (b"\0\1\0\0\0x", "a broken Hello frame"),
        (b"\1\1\0\0\0\xff", "a broken Propose frame"),
        (b"\x0b\x10\0\0\0" + b"\0" * 8 + b"\xff" * 8, "a broken Meet frame"),
    ],
)
def test_bytes_of_another_kind_are_refused(data, message):
    with pytest.raises(ParameterServerError, match=message):
        list(FrameReader().feed(data))
