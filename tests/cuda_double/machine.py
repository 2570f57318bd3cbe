"""Streams and events: who runs when, with copies as late as their events allow."""

import ctypes

from tests.cuda_double.order import Order


class Machine:
    """One device.

    Work on the compute stream, or any that CuPy's functions use, runs at once: NumPy
    has no other way. Copies run at once too, or with `late` only when an event or a
    synchronisation asks for them, as a busy copy engine might.
    """

    def __init__(self, late=False, check=False):
        self.late = late
        self.strict = True  # see arrays.refuse
        self.order = Order() if check else None
        self.null = Stream(self)
        self.streams = [self.null]
        self.current = [self.null]

    def submit(self, run, reads=(), writes=(), what="", stream=None, leaves=()):
        """Hand work over to a stream, by default the current one."""
        stream = stream or self.current[-1]
        if stream.captured is not None:
            stream.captured.append((run, reads, writes, what))
            return
        if self.order:
            self.order.work(stream, reads, writes, what, leaves)
        stream.add(run)

    def touch(self, reads, writes, what):
        """Note what a function of the array module did on the current stream."""
        stream = self.current[-1]
        stream.finish()
        if self.order:
            self.order.work(stream, reads, writes, what)

    def stream_at(self, ptr):
        """The stream with a handle."""
        return next(s for s in self.streams if s.ptr == ptr)


class Event:
    """The place in a stream at which it was recorded last."""

    def __init__(self, block=False, disable_timing=False):
        self.stream, self.place, self.clock = None, 0, None

    def synchronize(self):
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
        self.captured = None

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

    def record(self, event):
        event.stream, event.place = self, len(self.work)
        if self.machine.order:
            self.machine.order.record(self, event)

    def wait_event(self, event):
        if event.stream is None:
            return
        if self.machine.order:
            self.machine.order.wait(self, event)
        other, place = event.stream, event.place
        self.add(lambda: other.finish(place))

    def synchronize(self):
        self.finish()
        if self.machine.order:
            self.machine.order.synchronise(self)

    def begin_capture(self):
        self.captured = []

    def end_capture(self):
        captured, self.captured = self.captured, None
        return Graph(captured)

    def __enter__(self):
        self.machine.current.append(self)
        return self

    def __exit__(self, *error):
        self.machine.current.pop()


class Graph:
    """Captured work."""

    def __init__(self, captured):
        self.captured = captured

    def launch(self, stream):
        for run, reads, writes, what in self.captured:
            stream.machine.submit(run, reads, writes, what, stream)


class Runtime:
    """cudart, as far as we call it."""

    memcpyHostToDevice, memcpyDeviceToHost = 1, 2

    def __init__(self, machine):
        self.machine = machine

    def getDeviceCount(self):
        return 1

    def getDeviceProperties(self, index):
        sizes = {"major": 9, "minor": 0, "totalGlobalMem": 4 << 30}
        return {"name": b"the double of CuPy", **sizes}

    def memGetInfo(self):
        return 3 << 30, 4 << 30

    def memcpyAsync(self, target, source, nbytes, kind, stream):
        stream = self._copier(stream)
        name = {1: "copy in", 2: "copy out"}[kind]
        spans = [(source, source + nbytes)], [(target, target + nbytes)]
        move = lambda: ctypes.memmove(target, source, nbytes)  # noqa: E731
        self.machine.submit(move, *spans, name, stream)

    def memsetAsync(self, target, value, nbytes, stream):
        """What is overwritten so has left: nothing may read it any more."""
        stream, span = self._copier(stream), [(target, target + nbytes)]
        fill = lambda: ctypes.memset(target, value, nbytes)  # noqa: E731
        self.machine.submit(fill, [], span, "poison", stream, span)

    def _copier(self, ptr):
        stream = self.machine.stream_at(ptr)
        stream.lazy = self.machine.late
        return stream
