"""A pass over a batch as several passes over as many records each, on one thread each.

oneDNN cuts an inner product's sum over inputs among its threads where records are few,
and into pieces that depend on their number. In parts of one shape, each made by one
thread, a record's result is the same bits in any batch and on any number of threads.

In its plain matrix product the order also depends on a record's place among the others.
There part g of n has the records g, g + n, ..., which have the same places in a part of
any batch that N workers share; they are copied together and back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from geeps_caffe.device.array import Array, Shape, aligned, count
from geeps_caffe.engines.engine import Call, Description, Lanes, Layout, Request
from geeps_caffe.engines.one_lane import share
from geeps_caffe.engines.onednn.constants import FLOAT_BYTES

WORTH = 1 << 21  # products that are worth it to wake another thread

_RECORDS = ("bottom0", "bottom0.diff", "top0", "top0.diff")
_BY_PLACE = "x64:gemm"  # in the name of code whose bits depend on a record's place


def describe_parts(lanes: Lanes, request: Request) -> Description | None:
    """How the passes run; records lie one by one, so that any of them are an array."""
    assert not request.sums, "params' gradients are sums over all parts"
    found = lanes.describe(_part(request))
    if found is None:
        return None
    layouts = dict(found.layouts)
    for port in _RECORDS:
        if port in layouts:
            assert layouts[port].plain, f"{port}: records don't lie one by one"
            layouts[port] = Layout("plain", layouts[port].nbytes * request.parts)
    scratch = _lanes(lanes, request) * _Lane.nbytes(request, found)
    return replace(found, layouts=layouts, scratch=scratch)


def bind_parts(
    lanes: Lanes,
    request: Request,
    description: Description,
    arrays: Mapping[str, Array],
    scratch: Array | None,
) -> Call:
    """The call that makes all passes, side by side."""
    used = _lanes(lanes, request)
    size = description.scratch // used
    rows: list[list[Call]] = []
    for number in range(used):
        work = None if scratch is None else scratch[number * size : (number + 1) * size]
        lane = _Lane(lanes, number, request, description, arrays, work)
        rows.append([])
        for part in share(request.parts, number, used):
            rows[-1] += lane.of(part)
    return lanes.abreast(rows)


@dataclass(frozen=True)
class _Lane:
    """One thread's memory, and the calls for parts on it."""

    lanes: Lanes
    number: int
    request: Request
    description: Description
    arrays: Mapping[str, Array]
    scratch: Array | None

    @classmethod
    def nbytes(cls, request: Request, description: Description) -> int:
        """Of a lane's scratch: records that are copied together, and the engine's."""
        copied = cls._copied(request, description)
        shapes = _part(request).shapes
        blocks = (aligned(count(shapes[port]) * FLOAT_BYTES) for port in copied)
        return sum(blocks) + aligned(description.scratch)

    @staticmethod
    def _copied(request: Request, description: Description) -> list[str]:
        if _BY_PLACE not in description.implementation:
            return []
        return [p for p in _RECORDS if p in description.layouts and p in request.shapes]

    def of(self, part: int) -> list[Call]:
        """The calls that make one part."""
        request, copied = self.request, self._copied(self.request, self.description)
        own = _part(request)
        views, before, after, start = dict(self.arrays), [], [], 0
        for port in _RECORDS:
            if port not in self.arrays:
                continue
            if port not in copied:
                n = own.shapes[port][0]
                views[port] = self.arrays[port][part * n : (part + 1) * n]
                continue
            views[port] = self._block(start, own.shapes[port])
            start += aligned(views[port].nbytes)
            records = self.arrays[port][part :: request.parts]
            if _is_written(request, port):
                after.append(partial(np.copyto, records, views[port]))
            else:
                before.append(partial(np.copyto, views[port], records))
        work = None if self.scratch is None else self.scratch[start:]
        found = replace(self.description, scratch=0 if work is None else work.size)
        call = self.lanes.bind(self.number, own, found, views, work)
        return [*before, call, *after]

    def _block(self, start: int, shape: Shape) -> Array:
        assert self.scratch is not None
        stop = start + count(shape) * FLOAT_BYTES
        return self.scratch[start:stop].view(np.float32).reshape(shape)


def _is_written(request: Request, port: str) -> bool:
    return port == ("top0" if request.direction == "forward" else "bottom0.diff")


def _part(request: Request) -> Request:
    """The pass over one part; arrays of records are plain."""
    shapes, given = dict(request.shapes), dict(request.given)
    for port in _RECORDS:
        given.pop(port, None)
        if port in shapes:
            records, *rest = shapes[port]
            shapes[port] = (records // request.parts, *rest)
    return replace(request, shapes=shapes, given=given, parts=0)


def _lanes(lanes: Lanes, request: Request) -> int:
    """How many threads work on it."""
    shapes = request.shapes
    records = (shapes.get("bottom0") or shapes["bottom0.diff"])[0]
    large = count(shapes["param0"]) * records >= WORTH
    return min(lanes.count, request.parts) if large else 1
