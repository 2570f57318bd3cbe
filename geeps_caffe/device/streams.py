"""The queues of a GPU: one computes, one copies in, one copies out.

Work on one queue runs in the order in which it was handed over; queues know nothing
of each other but through events.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from geeps_caffe.device.array import ArrayModule
from geeps_caffe.device.device import Call

COMPUTE, COPY_IN, COPY_OUT = QUEUES = ("compute", "copy-in", "copy-out")


class Queues:
    """A CUDA stream for each queue.

    Args:
        blocking: streams wait for the default stream and it for them (PyCUDA
            launches there); else they are independent of it.
    """

    def __init__(self, cupy: ArrayModule, *, blocking: bool = False) -> None:
        self._cupy = cupy
        self._streams = {
            name: cupy.cuda.Stream(non_blocking=not blocking) for name in QUEUES
        }

    def stream(self, name: str) -> Any:
        """CuPy's stream of a queue."""
        return self._streams[name]

    def on(self, name: str) -> AbstractContextManager[Any]:
        """Within this context all that CuPy starts goes to the queue."""
        found: AbstractContextManager[Any] = self._streams[name]
        return found

    def event(self) -> Any:
        """A new event, without times."""
        return self._cupy.cuda.Event(disable_timing=True)

    def bind_record(self, queue: str, event: Any) -> Call:
        """The event happens when all work on the queue so far is done."""
        stream = self._streams[queue]
        return lambda: stream.record(event)

    def bind_wait(self, queue: str, event: Any) -> Call:
        """Later work on the queue waits for the event; at once if never recorded."""
        stream = self._streams[queue]
        return lambda: stream.wait_event(event)

    def bind_host_wait(self, event: Any) -> Call:
        """This thread waits for the event."""
        return lambda: event.synchronize()

    def bind_graph(self, calls: Sequence[Call]) -> Call:
        """Capture calls from the compute queue once, to be launched as a CUDA graph.

        They are not run. They must neither synchronise nor take memory and have the
        same arguments every time; other queues that they use must begin after an
        event of the compute queue and be waited for in the end.

        Raises:
            RuntimeError: CUDA refuses; the queues are as they were.
        """
        stream = self._streams[COMPUTE]
        with stream:
            graph = _capture(stream, calls)
        return lambda: graph.launch(stream)

    def synchronise(self) -> None:
        """Wait for all queues."""
        for stream in self._streams.values():
            stream.synchronize()


def _capture(stream: Any, calls: Sequence[Call]) -> Any:
    """The graph of what calls give to a stream."""
    stream.begin_capture()
    try:
        for call in calls:
            call()
    except BaseException:
        with suppress(RuntimeError):  # it is spoilt; only its end matters
            stream.end_capture()
        raise
    return stream.end_capture()
