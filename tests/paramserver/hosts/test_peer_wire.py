import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts import peer_messages as p
from geeps_caffe.paramserver.hosts.peer_wire import pack, read_head, unpack, write_head

MESSAGES = [
    p.Greeting(3, 0),
    p.Ready(bytes(range(32))),
    p.Part(1, 2**40, 3, 4, 5, 0.1, 2.0, 64.0),
    p.Nothing(1, 2, 3, 4.5),
    p.Rows(1, 2, -1, 4),
    p.NormPart(7, 1.5),
    p.Copy(2**40, True, 5, 1, 2, 3, 4, -1),
    p.Taken(9),
    p.Wanted(1, 2, 3),
    p.Relay(5),
    p.Alive(),
    p.Gone(),
    p.Released(),
    p.Failed(True),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_every_message_comes_back(message):
    assert read_head(write_head(message)) == message


def test_several_go_as_one_block():
    letters = [(message, bytes(n)) for n, message in enumerate(MESSAGES)]
    assert unpack(pack(letters)) == letters
    assert unpack(b"") == []


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"\x02", write_head(MESSAGES[2]) + b"x", b"\x0a\x00"]
)
def test_other_bytes_are_refused(data):
    with pytest.raises(ParameterServerError):
        read_head(data)


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_block_that_is_cut_off_is_refused(cut):
    block = pack([(p.Gone(), b"x" * 10), (p.Rows(1, 2, -1, 4), b"y" * 3)])
    with pytest.raises(ParameterServerError):
        unpack(block[:-cut])
