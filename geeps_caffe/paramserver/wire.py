"""Messages to frames and back: small, binary, little-endian, never evaluated.

A frame is one byte for the kind, four for the length of the rest, and the rest:
fixed fields as a struct, a text as UTF-8, or pairs and lists with their lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct, error, pack, unpack_from
from typing import Any

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import messages as m

_HEAD = Struct("<BI")
_HEAD_BYTES = _HEAD.size
LONGEST = 64 << 20  # bytes; a scheme of a hundred thousand segments is far below


@dataclass(frozen=True)
class _Code:
    kind: type[Any]
    write: Callable[[Any], bytes]
    read: Callable[[bytes | bytearray], Any]


def _fixed(kind: type[Any], layout: str) -> _Code:
    struct = Struct("<" + layout)
    make, unpack = tuple.__new__, struct.unpack  # as `kind._make`, without its check
    return _Code(
        kind,
        lambda message: struct.pack(*message),
        lambda data: make(kind, unpack(data)),
    )


def _text(kind: type[Any]) -> _Code:
    return _Code(
        kind,
        lambda message: message[0].encode(),
        lambda data: kind(data.decode()),
    )


def _write_meet(message: m.Meet) -> bytes:
    numbers, targets = len(message.values), len(message.assigned)
    layout = f"<qII{numbers}d{targets}i"
    return pack(
        layout, message.clock, numbers, targets, *message.values, *message.assigned
    )


def _read_meet(data: bytes | bytearray) -> m.Meet:
    clock, numbers, targets = unpack_from("<qII", data)
    _check_size(data, 16 + 8 * numbers + 4 * targets)
    fields = unpack_from(f"<{numbers}d{targets}i", data, 16)
    return m.Meet(clock, fields[:numbers], fields[numbers:])


def _write_met(message: m.Met) -> bytes:
    numbers, pairs = len(message.values), len(message.owners)
    flat = [number for pair in message.owners for number in pair]
    return pack(f"<II{numbers}d{2 * pairs}i", numbers, pairs, *message.values, *flat)


def _read_met(data: bytes | bytearray) -> m.Met:
    numbers, pairs = unpack_from("<II", data)
    _check_size(data, 8 + 8 * numbers + 8 * pairs)
    fields = unpack_from(f"<{numbers}d{2 * pairs}i", data, 8)
    flat = fields[numbers:]
    owners = tuple(zip(flat[::2], flat[1::2], strict=True))
    return m.Met(fields[:numbers], owners)


def _write_publish(message: m.Publish) -> bytes:
    return pack(f"<{len(message.targets)}i", *message.targets)


def _read_publish(data: bytes | bytearray) -> m.Publish:
    _check_size(data, len(data) // 4 * 4)
    return m.Publish(unpack_from(f"<{len(data) // 4}i", data))


def _check_size(data: bytes | bytearray, expected: int) -> None:
    if len(data) != expected:
        raise error(f"{len(data)} bytes instead of {expected}")


_CODES = (  # the place in this table is the kind on the wire
    _fixed(m.Hello, "iiii"),
    _text(m.Propose),
    _fixed(m.Granted, "qiii"),
    _text(m.Refused),
    _fixed(m.Push, "iqqdd"),
    _fixed(m.Close, "qq"),
    _fixed(m.Fresh, "iq"),
    _fixed(m.Pull, "iqq"),
    _fixed(m.Copied, "iq"),
    _fixed(m.Flags, "qq"),
    _fixed(m.Clipped, "qd"),
    _Code(m.Meet, _write_meet, _read_meet),
    _Code(m.Met, _write_met, _read_met),
    _Code(m.Publish, _write_publish, _read_publish),
    _fixed(m.Published, ""),
    _fixed(m.Gather, "i"),
    _fixed(m.Gathered, ""),
    _fixed(m.Beat, ""),
    _text(m.Waiting),
    _text(m.Lost),
    _fixed(m.Bye, ""),
    _text(m.Missing),
)
_NUMBERS = {code.kind: number for number, code in enumerate(_CODES)}


def write_frame(message: m.Message) -> bytes:
    """The message as one frame."""
    number = _NUMBERS[type(message)]
    body = _CODES[number].write(message)
    return _HEAD.pack(number, len(body)) + body


class FrameReader:
    """Collects bytes as they come and cuts them into messages."""

    def __init__(self) -> None:
        self._rest = bytearray()  # of a frame that is not yet here

    def feed(self, data: bytes) -> list[m.Message]:
        """The messages that are complete now.

        Raises:
            ParameterServerError: the bytes are not frames of ours.
        """
        if self._rest:
            self._rest += data
            found, place = _read_frames(self._rest)
            del self._rest[:place]
        else:
            found, place = _read_frames(data)
            self._rest += data[place:]
        return found


def _read_frames(data: bytes | bytearray) -> tuple[list[m.Message], int]:
    """The whole frames, and where they end."""
    found: list[m.Message] = []
    place, end = 0, len(data)
    while end - place >= _HEAD_BYTES:
        number, size = _HEAD.unpack_from(data, place)
        if number >= len(_CODES) or size > LONGEST:
            raise ParameterServerError(
                f"a frame of kind {number} and {size} bytes is not of protocol "
                f"{m.PROTOCOL}"
            )
        start, stop = place + _HEAD_BYTES, place + _HEAD_BYTES + size
        if stop > end:
            break
        try:
            found.append(_CODES[number].read(data[start:stop]))
        except (error, ValueError) as fault:
            kind = _CODES[number].kind.__name__
            raise ParameterServerError(f"a broken {kind} frame: {fault}") from fault
        place = stop
    return found, place


def read_frame(data: bytes) -> m.Message:
    """The one message in these bytes.

    Raises:
        ParameterServerError: they are not one whole frame.
    """
    found, place = _read_frames(data)
    if len(found) != 1 or place != len(data):
        raise ParameterServerError(f"{len(data)} bytes are not one frame")
    return found[0]
