"""The agents' messages as bytes: one for the kind, then fixed little-endian fields."""

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Any

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts import peer_messages as p

MOST_BYTES = 2 << 20  # of a payload; pieces are half as large


@dataclass(frozen=True)
class _Code:
    kind: type[Any]
    struct: Struct
    fields: Struct  # the same, but for the kind


def _code(kind: type[Any], layout: str) -> _Code:
    return _Code(kind, Struct("<B" + layout), Struct("<x" + layout))


_CODES = (  # the place in this table is the kind on the wire
    _code(p.Greeting, "ii"),
    _code(p.Ready, "32s"),
    _code(p.Part, "iqiiqddd"),
    _code(p.Nothing, "iqid"),
    _code(p.Rows, "iqii"),
    _code(p.NormPart, "qd"),
    _code(p.Copy, "q?iiiiiq"),
    _code(p.Taken, "q"),
    _code(p.Wanted, "qiq"),
    _code(p.Relay, "i"),
    _code(p.Alive, ""),
    _code(p.Gone, ""),
    _code(p.Failed, "?"),
    _code(p.Released, ""),
)
_SIZES = Struct("<HI")  # of a head and a payload
_NUMBERS = {code.kind: number for number, code in enumerate(_CODES)}


def write_head(message: p.PeerMessage) -> bytes:
    """The message without its payload."""
    number = _NUMBERS[type(message)]
    return _CODES[number].struct.pack(number, *message)


def pack(letters: Iterable[tuple[p.PeerMessage, bytes]]) -> bytes:
    """Small messages and their payloads as one block of bytes."""
    parts: list[bytes] = []
    for message, payload in letters:
        head = write_head(message)
        parts += [_SIZES.pack(len(head), len(payload)), head, payload]
    return b"".join(parts)


def unpack(block: bytes) -> list[tuple[p.PeerMessage, bytes]]:
    """What `pack` has packed.

    Raises:
        ParameterServerError: the bytes are something else.
    """
    found, place, end = [], 0, len(block)
    while place < end:
        start = place + _SIZES.size
        if start > end:
            raise ParameterServerError("a block of messages that is cut off")
        size, more = _SIZES.unpack_from(block, place)
        middle = start + size
        place = middle + more
        if place > end:
            raise ParameterServerError("a block of messages that is cut off")
        found.append((read_head(block[start:middle]), block[middle:place]))
    return found


def read_head(data: bytes) -> p.PeerMessage:
    """The message.

    Raises:
        ParameterServerError: the bytes are none.
    """
    if not data or data[0] >= len(_CODES):
        raise ParameterServerError(f"{len(data)} bytes are no message of an agent")
    code = _CODES[data[0]]
    if len(data) != code.struct.size:
        raise ParameterServerError(
            f"a {code.kind.__name__} message of {len(data)} bytes instead of "
            f"{code.struct.size}"
        )
    message: p.PeerMessage = tuple.__new__(code.kind, code.fields.unpack(data))
    return message
