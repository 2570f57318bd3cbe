"""The arrays of a bound plan as programs see them: plain, between two steps."""

import numpy as np

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.engines.engine import Engine, Layout, plain_layout
from geeps_caffe.execution.memory import PlanMemory
from geeps_caffe.execution.shapes import RunTimeShapes
from geeps_caffe.schedule.instructions import PlannedArray


class PlanArrays:
    """Reads and writes what lies in a plan's memory."""

    def __init__(
        self, memory: PlanMemory, engine: Engine, shapes: RunTimeShapes
    ) -> None:
        self.plan, self.memory, self.engine = memory.plan, memory, engine
        self.device = engine.device
        self._shapes = shapes

    def value(self, blob_value: str) -> Array:
        """A value's data after the step, in its plain shape."""
        program = self.plan.program
        name = program.data[blob_value]
        shape = self.shape(blob_value) if blob_value in program.dynamic else None
        return self._plain(name, self.memory.after(name), shape)

    def shape(self, blob_value: str) -> Shape:
        """A value's shape after the step."""
        return self._shapes.of(blob_value)

    def plain(self, name: str, shape: Shape | None = None) -> Array:
        """An array after the step: the memory itself if `in_place`, else a copy.

        `shape`: that of this step, if it is known only at run time.
        """
        return self._plain(name, self.memory.after(name), shape)

    def in_place(self, name: str) -> bool:
        """Whether `plain` shows the memory itself, which may then be written."""
        return self.device.on_host and self.plan.program.arrays[name].layout.plain

    def during(self, name: str, position: int, shape: Shape | None = None) -> Array:
        """An array as instruction `position` leaves it, as `plain` shows it.

        Its first elements in `shape`, if that is known only at run time.
        """
        return self._plain(name, self.memory.view(name, position), shape)

    def _plain(self, name: str, memory: Array, shape: Shape | None = None) -> Array:
        array = self.plan.program.arrays[name]
        if array.layout.plain:
            used = memory if shape is None else self.memory.fit(name, memory, shape)
            return self.device.to_host(used)
        assert shape is None, "arrays of run-time shapes are plain"
        copy = np.empty(array.shape, array.dtype)
        self._reorder(name, (memory, array.layout), (copy, _plain_layout(array)))
        return copy

    def copy_out(self, name: str, target: Array) -> None:
        """Copy an array of any layout to a plain one."""
        array = self.plan.program.arrays[name]
        source = (self.memory.after(name), array.layout)
        self._reorder(name, source, (target, _plain_layout(array)))

    def copy_in(self, name: str, source: Array) -> None:
        """Copy a plain array to one of any layout."""
        array = self.plan.program.arrays[name]
        given = (np.ascontiguousarray(source), _plain_layout(array))
        self._reorder(name, given, (self.memory.after(name), array.layout))

    def clear(self, name: str) -> None:
        """Set all of an array to 0, padding included."""
        with self.device.running():
            self.memory.after(name).fill(0)

    def _reorder(
        self, name: str, source: tuple[Array, Layout], target: tuple[Array, Layout]
    ) -> None:
        array = self.plan.program.arrays[name]
        with self.device.running():
            self.engine.bind_reorder(array.shape, source, target, array.dtype)()


def _plain_layout(array: PlannedArray) -> Layout:
    return plain_layout(array.shape, array.dtype)
