"""A pass over a batch as several passes over as many records each, on one thread each.

oneDNN cuts an inner product's sum over inputs among its threads where records are few,
and into pieces that depend on their number. In parts of one shape, each made by one
thread, a record's result is the same bits in any batch and on any number of threads.
"""

from collections.abc import Mapping
from dataclasses import replace

from geeps_caffe.device.array import Array, aligned, count
from geeps_caffe.engines.engine import Call, Description, Lanes, Layout, Request
from geeps_caffe.engines.one_lane import share

WORTH = 1 << 21  # products that are worth it to wake another thread

_RECORDS = ("bottom0", "bottom0.diff", "top0", "top0.diff")


def describe_parts(lanes: Lanes, request: Request) -> Description | None:
    """How the passes run; records lie one by one, so that any of them are an array."""
    sums = [p for p in request.shapes if p.startswith("param") and p.endswith(".diff")]
    assert not sums, f"{sums} are sums over all parts"
    found = lanes.describe(_part(request))
    if found is None:
        return None
    layouts = dict(found.layouts)
    for port in _RECORDS:
        if port in layouts:
            assert layouts[port].plain, f"{port}: records don't lie one by one"
            layouts[port] = Layout("plain", layouts[port].nbytes * request.parts)
    scratch = _lanes(lanes, request) * aligned(found.scratch)
    return replace(found, layouts=layouts, scratch=scratch)


def bind_parts(
    lanes: Lanes,
    request: Request,
    description: Description,
    arrays: Mapping[str, Array],
    scratch: Array | None,
) -> Call:
    """The call that makes all passes, side by side."""
    part, used = _part(request), _lanes(lanes, request)
    size = description.scratch // used
    own = replace(description, scratch=size)
    rows: list[list[Call]] = []
    for lane in range(used):
        work = None if scratch is None else scratch[lane * size : (lane + 1) * size]
        rows.append([])
        for i in share(request.parts, lane, used):
            views = _views(arrays, request, i)
            rows[-1].append(lanes.bind(lane, part, own, views, work))
    return lanes.abreast(rows)


def _part(request: Request) -> Request:
    """The pass over one part; arrays of records are plain."""
    shapes, given = dict(request.shapes), dict(request.given)
    for port in _RECORDS:
        given.pop(port, None)
        if port in shapes:
            records, *rest = shapes[port]
            shapes[port] = (records // request.parts, *rest)
    return replace(request, shapes=shapes, given=given, parts=0)


def _views(
    arrays: Mapping[str, Array], request: Request, part: int
) -> dict[str, Array]:
    """The arrays of one part."""
    views = dict(arrays)
    for port in _RECORDS:
        if port in arrays:
            records = request.shapes[port][0] // request.parts
            views[port] = arrays[port][part * records : (part + 1) * records]
    return views


def _lanes(lanes: Lanes, request: Request) -> int:
    """How many threads work on it."""
    shapes = request.shapes
    records = (shapes.get("bottom0") or shapes["bottom0.diff"])[0]
    large = count(shapes["param0"]) * records >= WORTH
    return min(lanes.count, request.parts) if large else 1
