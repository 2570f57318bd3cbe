"""Makes the gradients of the parts of a batch on single threads, and adds them up."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.tree import add_tree
from geeps_caffe.engines.engine import Call, Engine, Lanes
from geeps_caffe.engines.one_lane import in_turn, share
from geeps_caffe.execution.memory import PlanMemory
from geeps_caffe.schedule.instructions import ParamParts
from geeps_caffe.schedule.parts import Parted

_BLOCK = 1 << 15  # elements of a sum that are handled at a time
#: Elements that are worth it to wake another thread, which then waits for Python's lock
#: between any two sums. (LeNet's ip1, 1.6 million: 0.24 ms on one, 0.57 on two.)
_LARGE = 1 << 22


def bind_parts(
    memory: PlanMemory, engine: Engine, position: int, entry: ParamParts
) -> Call:
    """The call that makes all parts' gradients."""
    assert engine.lanes is not None
    arrays = {port: memory.view(name, position) for port, name in entry.ports}
    scratch = memory.view(entry.scratch, position)
    parted = Parted(entry.parts, entry.request, entry.description)
    size = parted.lane_bytes(entry.adds)
    lanes = [
        _Lane(engine.lanes, i, parted, arrays, scratch[i * size :], adds=entry.adds)
        for i in range(entry.lanes)
    ]
    rows = [
        [call for part in share(entry.parts, i, entry.lanes) for call in lane.of(part)]
        for i, lane in enumerate(lanes)
    ]
    return engine.lanes.abreast(rows)


def bind_sums(engine: Engine, sums: Sequence[tuple[Array, Array]]) -> Call:
    """Each target the sum of its rows (parts, elements), by `device.tree`."""
    assert engine.lanes is not None
    elements = sum(rows.size for rows, _ in sums)
    count = engine.lanes.count if elements >= _LARGE else 1
    calls: list[list[Call]] = []
    deep = len(sums[0][0]).bit_length()  # more than `add_tree` ever asks for
    for lane in range(count):
        work = np.empty((deep, _BLOCK), sums[0][1].dtype)
        calls.append([])
        for rows, target in sums:
            starts = range(0, target.size, _BLOCK)
            for i in share(len(starts), lane, count):
                calls[-1].append(_block_sum(rows, target, starts[i], work))
    return in_turn(calls) if count == 1 else engine.lanes.abreast(calls)


def _block_sum(rows: Array, target: Array, start: int, work: Array) -> Call:
    where = slice(start, start + _BLOCK)
    out = target[where]
    parts = [row[where] for row in rows]
    if len(parts) == 1:
        return partial(np.copyto, out, parts[0])
    spare = [block[: out.size] for block in work]
    return partial(add_tree, parts, out, spare)


class _Lane:
    """One thread's memory, and the calls for parts on it."""

    def __init__(
        self,
        lanes: Lanes,
        lane: int,
        parted: Parted,
        arrays: Mapping[str, Array],
        scratch: Array,
        *,
        adds: bool,
    ) -> None:
        self._lanes, self._lane, self._parted = lanes, lane, parted
        self._arrays, self._adds = arrays, adds
        self._blocks: dict[str, Array] = {}
        start = 0
        for name, size in parted.scratch_blocks(adds):
            self._blocks[name] = scratch[start : start + size]
            start += size

    def of(self, part: int) -> list[Call]:
        """The calls that make one part's gradients."""
        calls: list[Call] = []
        for port in ("bottom0", "top0.diff"):
            if port in self._blocks:
                calls.append(self._gather(port, part))
        calls.append(self._make(part))
        if self._adds:
            for port in self._parted.gradients:
                row = self._arrays[port][part]
                made = self._blocks[port].view(row.dtype)[: row.size]
                calls.append(partial(np.add, row, made, out=row))
        return calls

    def _gather(self, port: str, part: int) -> Call:
        """Copies the records of a part into the lane's memory."""
        parts = self._parted.parts
        whole = self._arrays[port].reshape(-1).view(self._arrays_dtype)
        records = whole.reshape(parts * self._records, -1)[part::parts]
        target = self._blocks[port].view(whole.dtype)[: records.size]
        return partial(np.copyto, target.reshape(records.shape), records)

    @property
    def _records(self) -> int:
        return self._parted.request.shapes["bottom0"][0]

    @property
    def _arrays_dtype(self) -> np.dtype:
        return np.dtype(self._parted.request.dtype)

    def _make(self, part: int) -> Call:
        request, description = self._parted.request, self._parted.description
        ports = {port: self._port(port, part) for port in description.layouts}
        work = self._blocks["scratch"] if description.scratch else None
        return self._lanes.bind(self._lane, request, description, ports, work)

    def _port(self, port: str, part: int) -> Array:
        """The array behind a port, as an engine expects it."""
        layout = self._parted.description.layouts[port]
        block = self._blocks.get(port)
        if block is None:
            block = self._arrays[port]
            if port in self._parted.gradients:
                block = block[part]
        block = block.reshape(-1).view(np.uint8)[: layout.nbytes]
        if not layout.plain:
            return block
        shape = self._parted.request.shapes[port]
        return block.view(self._arrays_dtype).reshape(shape)
