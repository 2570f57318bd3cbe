"""An engine that has one thread as the only lane of itself."""

from collections.abc import Callable, Mapping, Sequence

from geeps_caffe.device.array import Array
from geeps_caffe.engines.engine import Call, Description, Request


class OneLane:
    """See `engine.Lanes`."""

    count = 1

    def __init__(
        self,
        describe: Callable[[Request], Description | None],
        bind: Callable[[Request, Description, Mapping[str, Array], Array | None], Call],
    ) -> None:
        self.describe, self._bind = describe, bind

    def bind(
        self,
        lane: int,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """As the engine binds it."""
        del lane
        return self._bind(request, description, arrays, scratch)

    def abreast(self, rows: Sequence[Sequence[Call]]) -> Call:
        """All calls, row after row."""
        return in_turn(rows)


def share(count: int, lane: int, lanes: int) -> range:
    """The contiguous share of `count` things that a lane has."""
    return range(count * lane // lanes, count * (lane + 1) // lanes)


def in_turn(rows: Sequence[Sequence[Call]]) -> Call:
    """The call that makes all calls, row after row."""
    calls = tuple(call for row in rows for call in row)

    def run() -> None:
        for call in calls:
            call()

    return run
