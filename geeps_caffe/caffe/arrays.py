"""The arrays of a net that Python drives: blobs, params, gradients, pending shapes."""

import weakref
from collections.abc import Sequence

import numpy as np

from geeps_caffe.caffe.blobs import BlobOwner, Shadows
from geeps_caffe.caffe.in_place import (
    Copies,
    Part,
    copies_after,
    copies_before,
    copies_of_inputs,
    shown_gradient,
)
from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.errors import InputError, UsageError
from geeps_caffe.execution.executor import Executor
from geeps_caffe.execution.net import PlannedNet, carry_tops, kept_tops
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.base import first_elements
from geeps_caffe.layers.dummy_data import DummyData
from geeps_caffe.schedule.program import Program

PARAM = "param:"  # before the key of a param, to tell it from a blob's name
NOTHING = Part(0, -1)


class NetArrays(BlobOwner):
    """What the Blobs of a net show, and what they change before the next run.

    A blob that is changed in place is one array here, as in Caffe; see in_place.py.
    """

    def __init__(self, net: PlannedNet) -> None:
        self.net = net
        self.inputs = [net.graph.values[v].blob for v in net.graph.inputs]
        self.whole = Part(0, len(net.graph.nodes) - 1)
        self._shadows = Shadows()
        self._pending: dict[str, Shape] = {}
        self._waiting: dict[str, Array] = {}  # inputs while shapes do not agree yet
        self._zeros: dict[str, Array] = {}
        #: The arrays of nets that share params with this one.
        self.partners: weakref.WeakSet[NetArrays] = weakref.WeakSet()

    # -- around a run ----------------------------------------------------------

    def before_run(self, part: Part = NOTHING) -> Executor:
        """Take on what Python has changed, shapes and values, for a part to run."""
        self.reshape()
        self._shadows.carry_back(self.net.executor)
        self._follow_partners()
        self._copy(copies_before(*self._planned, part))
        return self.net.executor

    def _follow_partners(self) -> None:
        """Take on what Python has written to shared params by way of other nets."""
        for other in self.partners:
            if other._shadows.held:
                wrote = other._shadows.carry_back(other.net.executor)
                other._shadows.refresh(other.net.executor)
                if wrote and self._shadows.held:
                    self._shadows.carry_back(self.net.executor)
                    self._shadows.refresh(self.net.executor)

    def after_run(self, part: Part = NOTHING) -> None:
        """Show the new values in the arrays that Python holds, after a part has run."""
        self._copy(copies_after(*self._planned, part))
        self._shadows.refresh(self.net.executor)

    @property
    def _planned(self) -> tuple[Graph, Program]:
        return self.net.graph, self.net.executor.plan.program

    def _copy(self, copies: Copies) -> None:
        for source, target in copies:
            self.net.executor.copy_in(target, self.net.executor.plain(source))

    def reshape(self) -> None:
        """Give all blobs the shapes that follow from those of the inputs."""
        if not self._pending:
            return
        self._shadows.carry_back(self.net.executor)  # the net keeps inputs' values
        self._copy(copies_before(*self._planned, self.whole))
        self._shadows.refresh(self.net.executor)
        if self.net.reshape(self._pending):
            self._shadows.forget(keep=self._of_params())
            self._zeros.clear()
            self._copy(copies_of_inputs(*self._planned))
        for name in list(self._waiting):
            value = self.net.graph.last_value(name).name
            array = self.net.program.data[value]
            self._shadows.adopt(self.net.executor, array, self._wait(name))
        self._waiting, self._pending = {}, {}

    def move_to(self, net: PlannedNet) -> None:
        """Go on with another plan of the same graph; inputs keep their values."""
        graph = net.graph
        kept_blobs = {graph.values[top].blob for top in kept_tops(graph)}
        values = {name: self.blob_data(name).copy() for name in kept_blobs}
        self.net = net
        self._shadows.forget()
        self._zeros.clear()
        for name, kept in values.items():
            self.blob_data(name)[...] = kept
        carry_tops(graph)

    def clear_param_diffs(self) -> None:
        """Set the gradients of all params to zero."""
        executor = self.before_run()
        for name in self._of_params():
            if name.endswith(".diff"):
                executor.clear(name)
        self._shadows.refresh(executor)

    def _of_params(self) -> list[str]:
        """The arrays of params and their gradients, which outlive a plan."""
        arrays = self.net.program.arrays.items()
        return [name for name, array in arrays if array.home != "arena"]

    # -- what a Blob asks ------------------------------------------------------

    def blob_data(self, name: str) -> Array:
        """See Blob.data."""
        if name in self.inputs and not self._shapes_agree():
            return self._wait(name)
        self.reshape()
        executor = self.net.executor
        program = executor.plan.program
        if name.startswith(PARAM):
            self._follow_partners()
            return self._shadows.show(executor, program.params[name[len(PARAM) :]])
        self._fill(name)
        value = self.net.graph.last_value(name).name
        return self._show(value, program.data[value])

    def blob_diff(self, name: str) -> Array:
        """See Blob.diff; zeros where backward writes nothing."""
        self.reshape()
        array = self._diff_array(name)
        if array is None:
            return self._no_gradient(name)
        if name.startswith(PARAM):
            return self._shadows.show(self.net.executor, array)
        return self._show(self.net.graph.last_value(name).name, array)

    def blob_shape(self, name: str) -> Shape:
        """See Blob.shape."""
        if name.startswith(PARAM):
            return self.net.graph.params[name[len(PARAM) :]].shape
        if name in self.inputs:
            present = self.net.graph.last_value(name).shape
            return self._pending.get(name, present)
        self.reshape()
        value = self.net.graph.last_value(name)
        dynamic = value.name in self.net.program.dynamic
        return self.net.executor.shape(value.name) if dynamic else value.shape

    def blob_reshape(self, name: str, shape: Sequence[int]) -> None:
        """See Blob.reshape."""
        if name in self.inputs:
            self._pending[name] = tuple(shape)
        elif name.startswith(PARAM):
            if count(tuple(shape)) != count(self.blob_shape(name)):
                raise UsageError("params keep their size; they can't be reshaped")
        elif isinstance(self._source(name).layer, DummyData):
            raise UsageError(
                f"blob {name!r} of {self._source(name).title} keeps the shape of its "
                "dummy_data_param; an Input layer has blobs that can be reshaped"
            )

    def _fill(self, name: str) -> None:
        """Constants of DummyData are there before the net runs first, as in Caffe."""
        node, executor = self._source(name), self.net.executor
        if isinstance(node.layer, DummyData) and not node.layer.filled:
            program = executor.plan.program
            forward = range(program.backward_start)
            executor.begin(0, np.arange(1, dtype=np.int64))
            executor.run(lambda i, _: i in forward and program.owners[i] == node.index)

    def _source(self, name: str) -> Node:
        """The layer that a blob, no param, comes from."""
        graph = self.net.graph
        return graph.nodes[graph.first_value(name).source]

    def _shapes_agree(self) -> bool:
        """Reshape; False where layers refuse what may be some of several new shapes."""
        try:
            self.reshape()
        except InputError:
            return False
        return True

    def _wait(self, name: str) -> Array:
        """An input's values until all of the new shapes are known."""
        shape = self.blob_shape(name)
        old = self._waiting.get(name)
        if old is None:
            old = self.net.executor.value(self.net.graph.last_value(name).name)
        elif old.shape == shape:
            return old
        new = np.zeros(shape, old.dtype)
        size = min(old.size, new.size)
        new.reshape(-1)[:size] = old.reshape(-1)[:size]
        self._waiting[name] = new
        return new

    def _show(self, value: str, name: str) -> Array:
        """The array of a value or its gradient, in the shape that this has now."""
        executor = self.net.executor
        shown = self._shadows.show(executor, name)
        if value not in executor.plan.program.dynamic:
            return shown
        shape = executor.shape(value)
        if count(shape) > shown.size:  # it has outgrown its place
            return executor.plain(name, shape)
        return first_elements(shown, shape)

    def _diff_array(self, name: str) -> str | None:
        program = self.net.executor.plan.program
        if name.startswith(PARAM):
            array = f"{name[len(PARAM) :]}.diff"
            return array if array in program.arrays else None
        return shown_gradient(*self._planned, name)

    def _no_gradient(self, name: str) -> Array:
        shape = self.blob_shape(name)
        if name not in self._zeros or self._zeros[name].shape != shape:
            self._zeros[name] = np.zeros(shape, self.net.options.dtype)
        return self._zeros[name]
