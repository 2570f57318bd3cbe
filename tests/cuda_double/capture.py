"""Stream capture: what streams are given is written down instead of run."""

from dataclasses import dataclass


class CaptureError(RuntimeError):
    """What CUDA refuses in a capture, or what would be wrong in it."""


@dataclass(frozen=True)
class Work:
    """One piece of work: bytes that it reads and writes, and those that leave.

    `copies`: what it does is to copy the only run that it reads to the one it writes.
    """

    run: object
    reads: tuple
    writes: tuple
    what: str
    leaves: tuple = ()
    copies: bool = False


class Capture:
    """The pieces since a stream began to capture, of all streams that joined it.

    `pieces`: stream, and Work; or None for a recorded event; or the number of such a
    piece that is waited for. A fault spoils all of it, as in CUDA.
    """

    def __init__(self, origin):
        self.origin, self.pieces, self.fault = origin, [], None
        self.streams = {origin: {}}  # what each knows: stream -> pieces of work
        self.counts = {origin: 0}

    def add(self, stream, work):
        self.pieces.append((stream, work))
        self.counts[stream] += 1
        self.streams[stream][stream] = self.counts[stream]

    def record(self, stream, event):
        event.captured = (self, len(self.pieces), dict(self.streams[stream]))
        self.pieces.append((stream, None))

    def wait(self, stream, event):
        capture, index, known = event.captured
        if capture is not self or self.origin.capture is not self:
            raise CaptureError("cudaErrorCapturedEvent: of a capture that is over")
        if stream.capture is None:
            stream.capture = self
            self.streams.setdefault(stream, {})
            self.counts.setdefault(stream, 0)
        mine = self.streams[stream]
        for other, count in known.items():
            mine[other] = max(mine.get(other, 0), count)
        self.pieces.append((stream, index))

    def fail(self, why):
        """CUDA refuses all that follows, and the end."""
        self.fault = self.fault or why
        raise CaptureError(f"not in a capture: {why}")

    def end(self):
        """All streams must have come together again."""
        for stream in self.streams:
            stream.capture = None
        if self.fault:
            raise CaptureError(f"cudaErrorStreamCaptureInvalidated: {self.fault}")
        known = self.streams[self.origin]
        if any(known.get(s, 0) < count for s, count in self.counts.items()):
            raise CaptureError("cudaErrorStreamCaptureUnjoined")
        return self
