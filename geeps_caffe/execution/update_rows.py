"""Makes the gradient of some weights by rows, and hands in each slice at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from geeps_caffe.device.array import Array, aligned, count
from geeps_caffe.engines.engine import Call, Description, Engine, Request
from geeps_caffe.execution.memory import PlanMemory
from geeps_caffe.schedule.instructions import UpdateRows

#: Binds the update of a param's elements from a first one on.
BindPart: TypeAlias = Callable[[int, Array], Call]


@dataclass(frozen=True)
class _Slice:
    """Some rows: their columns of the top's diff, and where the bias's go."""

    columns: tuple[Array, Array]  # source and target of a copy
    make: Call
    bias: tuple[Array, Array] | None
    apply: Call

    def run(self) -> None:
        """Make the gradient of these rows and apply it."""
        source, target = self.columns
        np.copyto(target, source)
        self.make()
        if self.bias is not None:
            source, target = self.bias
            np.copyto(target, source)
        self.apply()


def bind_rows(
    memory: PlanMemory,
    engine: Engine,
    bind_part: BindPart,
    position: int,
    entry: UpdateRows,
) -> Call:
    """The call that updates the weights row by row."""
    arrays = {port: memory.view(name, position) for port, name in entry.ports}
    scratch = memory.view(entry.scratch, position)
    binder = _Binder(engine, bind_part, arrays, scratch)
    slices = binder.slices(entry.request, entry.description, 0)
    if entry.last is not None:
        slices += binder.slices(*entry.last, len(slices) * entry.rows)
    runs = tuple(part.run for part in slices)

    def update() -> None:
        for run in runs:
            run()

    return update


class _Binder:
    """Binds passes over slices, which all use the same memory.

    Args:
        arrays: by port, as in UpdateRows.
        scratch: for columns, the bias's gradient, and the engine.
    """

    def __init__(
        self,
        engine: Engine,
        bind_part: BindPart,
        arrays: dict[str, Array],
        scratch: Array,
    ) -> None:
        self._engine, self._bind_part = engine, bind_part
        self._arrays, self._scratch = arrays, scratch
        self._done = 0  # elements of the weights

    def slices(
        self, request: Request, description: Description, first: int
    ) -> list[_Slice]:
        """As many as fit, from row `first` on."""
        rows = request.shapes["param0.diff"][0]
        ports = self._ports(request, description)
        make = self._engine.bind(request, description, ports, self._work(description))
        whole = self._arrays["top0.diff"]
        whole = whole.reshape(-1, whole.shape[-1])
        columns = ports["top0.diff"].reshape(-1, rows)
        grad = ports["param0.diff"].reshape(-1).view(columns.dtype)
        found = []
        for row in range(first, whole.shape[1] - rows + 1, rows):
            part = slice(row, row + rows)
            bias = None
            if "param1.diff" in ports:
                bias = (ports["param1.diff"], self._arrays["param1.diff"][part])
            apply = self._bind_part(self._done, grad)
            found.append(_Slice((whole[:, part], columns), make, bias, apply))
            self._done += grad.size
        return found

    def _ports(self, request: Request, description: Description) -> dict[str, Array]:
        """The arrays of one slice."""
        dtype, shapes = np.dtype(request.dtype), request.shapes
        columns = self._take(0, count(shapes["top0.diff"]) * dtype.itemsize)
        ports = {
            "bottom0": self._arrays["bottom0"],
            "top0.diff": columns.view(dtype).reshape(shapes["top0.diff"]),
            "param0.diff": self._rows(request, description),
        }
        if "param1.diff" in shapes:
            start = aligned(columns.size)
            bias = self._take(start, shapes["param1.diff"][0] * dtype.itemsize)
            ports["param1.diff"] = bias.view(dtype)
        return ports

    def _rows(self, request: Request, description: Description) -> Array:
        """The array of the rows' gradient, or its beginning."""
        layout = description.layouts["param0.diff"]
        block = self._arrays["param0.diff"].reshape(-1).view(np.uint8)[: layout.nbytes]
        if not layout.plain:
            return block
        return block.view(request.dtype).reshape(request.shapes["param0.diff"])

    def _take(self, start: int, nbytes: int) -> Array:
        return self._scratch[start : start + nbytes]

    def _work(self, description: Description) -> Array | None:
        if not description.scratch:
            return None
        return self._scratch[-aligned(description.scratch) :]
