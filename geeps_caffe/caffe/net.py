"""pycaffe's Net: forward and backward by hand, blobs and params as arrays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

import prototxt
from geeps_caffe.caffe.arguments import read_arguments
from geeps_caffe.caffe.arrays import NetArrays
from geeps_caffe.caffe.batches import Batched
from geeps_caffe.caffe.blobs import Blob
from geeps_caffe.caffe.by_hand import plan_by_hand
from geeps_caffe.caffe.faults import ArrayError
from geeps_caffe.caffe.hooks import Hooked, Hooks
from geeps_caffe.caffe.in_place import Part, written_gradients
from geeps_caffe.caffe.weight_files import WithWeights
from geeps_caffe.device.array import Array
from geeps_caffe.errors import GraphError, UsageError, unknown
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.sharing import shared_names
from geeps_caffe.execution.weights import fill_params
from geeps_caffe.layers.dummy_data import DummyData
from geeps_caffe.layers.memory_data import MemoryData
from geeps_caffe.schedule.instructions import Instruction
from geeps_caffe.schedule.plan import Plan


class Net(Hooked, Batched, WithWeights):
    """A net from a prototxt, run by hand.

    Args:
        network_file: the net's prototxt.
        args: phase (TRAIN or TEST), level, stages and weights in this order; or, in
            the old form, weights and phase.
        named: the same by name.
        engine, dtype: ours; the default is the best engine, in float32.
    """

    def __init__(
        self,
        network_file: str,
        *args: Any,
        engine: str | None = None,
        dtype: str | None = None,
        **named: Any,
    ) -> None:
        given = read_arguments(args, named)
        state = given.state
        document = prototxt.read_net(str(network_file))
        planned = plan_by_hand(document, state, engine, dtype)
        fill_params(planned, planned.seed)
        self._adopt(planned)
        for path in given.weight_files:
            self.copy_from(path)

    @classmethod
    def of(cls, planned: PlannedNet) -> "Net":
        """The view of a net that a solver owns."""
        net = cls.__new__(cls)
        net._adopt(planned)
        return net

    def _adopt(self, planned: PlannedNet) -> None:
        self._net = planned
        self._arrays = NetArrays(planned)
        self._passes = 0
        self._hooks = Hooks()
        for node in planned.graph.nodes:
            if isinstance(node.layer, DummyData):
                node.layer.keeps_tops = True  # what Python writes there stays
        self._describe(planned.graph, self._arrays)

    # -- run -------------------------------------------------------------------

    def before_run(self) -> None:
        """Take on what Python has changed, shapes and values, for the whole net."""
        self._arrays.before_run(self._arrays.whole)

    def after_run(self) -> None:
        """Show the new values in the arrays that Python holds."""
        self._arrays.after_run()

    def set_input_arrays(self, data: Array, labels: Array) -> None:
        """Give the net's MemoryData layer its records: (n, C, H, W), and n labels."""
        for node in self._net.graph.nodes:
            if isinstance(node.layer, MemoryData):
                node.layer.reset(np.asarray(data), np.asarray(labels))
                return
        raise UsageError("set_input_arrays needs a net with a MemoryData layer")

    def forward(
        self,
        blobs: Sequence[str] | None = None,
        start: str | None = None,
        end: str | None = None,
        **inputs: Array,
    ) -> dict[str, Array]:
        """Run the layers from `start` to `end` (names, both included).

        Keyword arguments are values for input blobs. Returns the net's outputs (or
        the tops of `end`) and those named in `blobs`.
        """
        self.reshape()
        part = Part(*self._range(start, end))
        for name, values in inputs.items():
            self._check_input(name, part)
            _assign(f"input {name!r}", self.blobs[name], "data", values)
        self._net.follow_sources(part=part.layers())
        self._begin()
        self._walk(part)
        named = self.top_names[end] if end is not None else self.outputs
        wanted = dict.fromkeys([*named, *(blobs or ())])
        return {name: self.blobs[name].data for name in wanted}

    def backward(
        self,
        diffs: Sequence[str] | None = None,
        start: str | None = None,
        end: str | None = None,
        **outputs: Array,
    ) -> dict[str, Array]:
        """Run the layers backward from `start` down to `end`.

        Keyword arguments are gradients for output blobs. Returns the gradients of
        the net's inputs (or of `end`'s bottoms) and those named in `diffs`.
        """
        self.reshape()
        part = Part(*self._range(end, start), backward=True)
        for name, values in outputs.items():
            self._check_output(name, part)
            _assign(f"the gradient of {name!r}", self.blobs[name], "diff", values)
        self._walk(part)
        named = self.bottom_names[end] if end is not None else self.inputs
        wanted = dict.fromkeys([*named, *(diffs or ())])
        return {name: self.blobs[name].diff for name in wanted}

    def _walk(self, part: Part) -> None:
        executor = self._arrays.before_run(part)
        _check_no_swaps(executor.plan)
        program = executor.plan.program
        owners, middle = program.owners, program.backward_start
        left = part

        @contextmanager
        def settled(layer: int, done: bool) -> Iterator[None]:
            nonlocal left
            ran, left = left.split(layer, done)
            self._arrays.after_run(ran)
            yield
            self._arrays.before_run(left)

        def wanted(position: int, _: Instruction) -> bool:
            backward = position >= middle
            right = backward == part.backward and position >= 0
            return right and part.has(owners[position])

        self._hooks.run(part, owners, wanted, executor.run, settled)
        self._arrays.after_run(left)

    def _forward(self, start: int, end: int) -> float:
        """pycaffe's name for a part of the net, by numbers; returns the loss."""
        self.forward(start=self._layer_names[start], end=self._layer_names[end])
        return self._net.loss()

    def _backward(self, start: int, end: int) -> None:
        """The same for a part of backward."""
        self.backward(start=self._layer_names[start], end=self._layer_names[end])

    def clear_param_diffs(self) -> None:
        """Set the gradients of all params to zero."""
        self._arrays.clear_param_diffs()

    def reshape(self) -> None:
        """Give all blobs the shapes that follow from those of the inputs."""
        self._arrays.reshape()

    def _begin(self) -> None:
        batch = max(
            (v.shape[0] for v in self._net.graph.values.values() if v.shape), default=1
        )
        self._net.executor.begin(self._passes, np.arange(batch, dtype=np.int64))
        self._passes += 1

    def _range(self, start: str | None, end: str | None) -> tuple[int, int]:
        names = self._layer_names
        for name in (start, end):
            if name is not None and name not in names:
                raise GraphError(unknown("layer", name, names))
        first = names.index(start) if start is not None else 0
        last = names.index(end) if end is not None else len(names) - 1
        return first, last

    def _check_input(self, name: str, part: Part) -> None:
        """Refuse values for a blob that a layer of the part writes itself."""
        self._known_blob(name)
        graph = self._net.graph
        value = graph.first_value(name)
        node = graph.nodes[value.source]
        kept = value.name in graph.inputs or isinstance(node.layer, DummyData)
        if part.has(node.index) and not kept:
            raise UsageError(
                f"forward: values are given for {name!r}, which {node.title} writes; "
                f"the net's inputs are {', '.join(map(repr, self.inputs)) or 'none'}"
            )

    def _check_output(self, name: str, part: Part) -> None:
        """Refuse a gradient for a blob where a layer of the part writes it itself."""
        self._known_blob(name)
        graph = self._net.graph
        states = [v for v in graph.values.values() if v.blob == name]
        below = [v.name for v in states if v.source <= part.last]
        if below and below[-1] in written_gradients(graph, part):
            raise UsageError(
                f"backward: a gradient is given for {name!r}, which the layers above "
                "write; the net's outputs are "
                f"{', '.join(map(repr, self.outputs)) or 'none'}"
            )

    def _known_blob(self, name: str) -> None:
        if name not in self.blobs:
            raise GraphError(unknown("blob", name, self.blobs))

    # -- other nets ------------------------------------------------------------

    def share_with(self, other: "Net") -> None:
        """Use the params of another net, by layer name; gradients stay apart.

        Raises:
            InputError: a layer of both nets has other blobs in each.
        """
        self._arrays.before_run()
        mine, theirs = self._net, other._net
        names = {
            own: key
            for own, key in shared_names(mine.graph, theirs.graph).items()
            if own in mine.graph.params
        }
        layouts = mine.layouts | {own: theirs.layouts[k] for own, k in names.items()}
        self._net = PlannedNet(
            mine.graph,
            mine.engine,
            mine.options,
            params=mine.params.with_shared(theirs.params, names),
            layouts=layouts,
            seed=mine.seed,
        )
        self._arrays.move_to(self._net)
        link(self, other)


def _assign(what: str, blob: Blob, to: Literal["data", "diff"], values: Array) -> None:
    """Write an array into a blob of as many records."""
    values = np.asarray(values)
    has = f"{what} has shape {values.shape}, but the blob has {tuple(blob.shape)}"
    if values.shape[:1] != blob.shape[:1]:
        raise ArrayError(f"{has}; call net.blobs[...].reshape first")
    try:
        getattr(blob, to)[...] = values
    except ValueError as error:
        raise ArrayError(has) from error


def link(*nets: Net) -> None:
    """Tell nets that share params of each other, so that they see what is written."""
    for net in nets:
        net._arrays.partners |= {n._arrays for n in nets if n is not net}


@contextmanager
def driven(*nets: Net) -> Iterator[None]:
    """While a solver runs nets, whose arrays Python may hold and have written."""
    for net in nets:
        net.before_run()
    yield
    for net in nets:
        net.after_run()


def _check_no_swaps(plan: Plan) -> None:
    """Where swaps are planned, the layers of a part do not find what they read."""
    if plan.moved_bytes:
        raise UsageError(
            "forward and backward by hand need all arrays in place, but the settings "
            "of this net (memory, param_cache) let some be swapped out; train it with "
            "step, or leave these settings out"
        )
