"""Streams and events: who runs when, with copies as late as their events allow."""

import ctypes
from collections import Counter

from tests.cuda_double.capture import Capture, CaptureError, Work
from tests.cuda_double.order import Order


class Machine:
    """One device, `device` of the `devices` that there are to choose from.

    Work on the compute stream, or any that CuPy's functions use, runs at once: NumPy
    has no other way. Copies run at once too, or with `late` only when an event or a
    synchronisation asks for them, as a busy copy engine might.
    """

    def __init__(self, late=False, check=False, devices=1):
        self.late = late
        self.device, self.devices = 0, devices
        self.strict = True  # see arrays.refuse
        self.room = 1 << 40  # bytes: the most in one block, of the device or pinned
        self.pinned = {}  # start -> stop of host memory
        self.pageable = []  # copies from or to other memory: "copy in", "copy out"
        self.launches = 0  # of graphs
        self.kernels = Counter()  # launches by name, those of graphs too
        self.capture = None  # the one that is going on
        self.order = Order() if check else None
        self.null = Stream(self)
        self.streams = [self.null]
        self.current = [self.null]

    def submit(self, run, reads=(), writes=(), what="", stream=None, **more):
        """Hand work over to a stream, by default the current one; see `Work`."""
        stream = stream or self.current[-1]
        work = Work(run, tuple(reads), tuple(writes), what, **more)
        if stream.capture is not None:
            stream.capture.add(stream, work)
            return
        if self.capture is not None:
            self.capture.fail(f"{what} on a queue that has not joined it")
        self.begin(work, stream)

    def begin(self, work, stream):
        """Check a piece of work and give it to a stream that is not captured."""
        if self.order:
            self.order.work(stream, work)
        stream.add(work.run)
        self.kernels[work.what] += 1

    def touch(self, reads, writes, what):
        """Note what a function of the array module did on the current stream.

        Most take memory for what they return, which a graph would not keep; so none
        may be captured, though CuPy would let some pass.
        """
        stream = self.current[-1]
        if stream.capture is not None:
            stream.capture.fail(f"{what} takes memory or waits")
        stream.finish()
        if self.order:
            self.order.work(stream, Work(None, tuple(reads), tuple(writes), what))

    @property
    def capturing(self):
        """Whether the current stream is captured."""
        return self.current[-1].capture is not None

    def pin(self, start, stop):
        """Host memory that the copy engines reach."""
        self.pinned[start] = stop

    def unpin(self, start):
        """It is given back; who gets it next has nothing to do with what it held."""
        stop = self.pinned.pop(start, None)
        if stop is not None and self.order:
            self.order.freed.append((start, stop))
        return stop

    def is_pinned(self, start, stop):
        """Whether all of a span of host memory is."""
        return any(a <= start and stop <= b for a, b in list(self.pinned.items()))

    def stream_at(self, ptr):
        """The stream with a handle."""
        return next(s for s in self.streams if s.ptr == ptr)

    def copier(self, ptr):
        """The same, of a stream that copies: its work is put off where all is late."""
        stream = self.stream_at(ptr)
        stream.lazy = self.late
        return stream


class Event:
    """The place in a stream at which it was recorded last."""

    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.stream, self.place, self.clock = None, 0, None
        self.captured = None  # the capture in which it was recorded last, and where

    def record(self, stream=None):
        assert stream is not None, "say on which stream"
        stream.record(self)

    def synchronize(self):
        if self.captured is not None:
            raise CaptureError("cudaErrorCapturedEvent: waiting for a captured event")
        if self.stream is None:
            return
        self.stream.finish(self.place)
        if self.stream.machine.order:
            self.stream.machine.order.wait_host(self)


class Stream:
    """Work in order; `done` pieces of it have run."""

    def __init__(self, machine, lazy=False):
        self.machine, self.lazy = machine, lazy
        self.work, self.done = [], 0
        self.ptr = 0 if not hasattr(machine, "streams") else len(machine.streams)
        self.capture = None

    def add(self, run):
        self.work.append(run)
        if not self.lazy:
            self.finish()

    def finish(self, place=None):
        """Run what was handed over, up to a place."""
        end = len(self.work) if place is None else place
        while self.done < end:
            run = self.work[self.done]
            self.work[self.done] = None
            self.done += 1
            run()

    def record(self, event=None):
        event = event or Event()
        if self.capture is not None:
            self.capture.record(self, event)
            return event
        event.captured = None
        event.stream, event.place = self, len(self.work)
        if self.machine.order:
            self.machine.order.record(self, event)
        return event

    def wait_event(self, event):
        if event.captured is not None:
            event.captured[0].wait(self, event)
            return
        if self.capture is not None:
            self.capture.fail("cudaErrorStreamCaptureIsolation: an event of outside")
        if event.stream is None:
            return
        if self.machine.order:
            self.machine.order.wait(self, event)
        other, place = event.stream, event.place
        self.add(lambda: other.finish(place))

    def synchronize(self):
        if self.capture is not None:
            self.capture.fail("cudaErrorStreamCaptureUnsupported: a synchronisation")
        self.finish()
        if self.machine.order:
            self.machine.order.synchronise(self)

    def begin_capture(self, mode=None):
        if not self.ptr:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if self.capture is not None:
            raise CaptureError("cudaErrorIllegalState: a capture within a capture")
        self.capture = self.machine.capture = Capture(self)

    def end_capture(self):
        if self.capture is None or self.capture.origin is not self:
            raise CaptureError("cudaErrorStreamCaptureUnmatched")
        self.machine.capture = None
        return Graph(self.machine, self.capture.end())

    def is_capturing(self):
        return self.capture is not None

    def __enter__(self):
        self.machine.current.append(self)
        return self

    def __exit__(self, *error):
        self.machine.current.pop()


class Graph:
    """Captured work. Its branches are streams of its own: they know of no others."""

    def __init__(self, machine, capture):
        self.machine, self.capture = machine, capture
        self.branches = {}

    def launch(self, stream=None):
        stream = stream or self.machine.current[-1]
        if stream.capture is not None:
            stream.capture.fail("a graph within a graph is not emulated")
        self.machine.launches += 1
        made = {}
        for index, (where, what) in enumerate(self.capture.pieces):
            branch = self._branch(where, stream)
            if isinstance(what, Work):
                self.machine.begin(what, branch)
            elif what is None:
                made[index] = branch.record()
            else:
                branch.wait_event(made[what])

    def _branch(self, where, stream):
        if where is self.capture.origin:
            return stream
        if where not in self.branches:
            self.branches[where] = Stream(self.machine, where.lazy)
        return self.branches[where]


class Runtime:
    """cudart, as far as we call it."""

    memcpyHostToDevice, memcpyDeviceToHost = 1, 2

    def __init__(self, machine):
        self.machine = machine

    def getDeviceCount(self):
        return self.machine.devices

    def runtimeGetVersion(self):
        return 13000

    def hostRegister(self, ptr, size, flags):
        if any(a < ptr + size and ptr < b for a, b in self.machine.pinned.items()):
            raise RuntimeError("cudaErrorHostMemoryAlreadyRegistered")
        self.machine.pin(ptr, ptr + size)

    def hostUnregister(self, ptr):
        if self.machine.unpin(ptr) is None:
            raise RuntimeError("cudaErrorHostMemoryNotRegistered")

    def getDeviceProperties(self, device):
        sizes = {"major": 9, "minor": 0, "totalGlobalMem": 4 << 30}
        return {"name": b"the double of CuPy", **sizes}

    def memGetInfo(self):
        return 3 << 30, 4 << 30

    def memcpyAsync(self, dst, src, size, kind, stream):
        stream, target, source, nbytes = self.machine.copier(stream), dst, src, size
        name = {1: "copy in", 2: "copy out"}[kind]
        host = source if kind == self.memcpyHostToDevice else target
        if not self.machine.is_pinned(host, host + nbytes):
            self.machine.pageable.append(name)
            if stream.capture is not None:
                stream.capture.fail(f"{name} of pageable memory")
        spans = [(source, source + nbytes)], [(target, target + nbytes)]
        move = lambda: ctypes.memmove(target, source, nbytes)  # noqa: E731
        self.machine.submit(move, *spans, name, stream, copies=True)

    def memsetAsync(self, ptr, value, size, stream):
        """What is overwritten so has left: nothing may read it any more."""
        stream, span = self.machine.copier(stream), [(ptr, ptr + size)]
        fill = lambda: ctypes.memset(ptr, value, size)  # noqa: E731
        self.machine.submit(fill, [], span, "poison", stream, leaves=tuple(span))
