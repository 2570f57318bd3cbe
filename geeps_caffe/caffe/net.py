"""pycaffe's Net: forward and backward by hand, blobs and params as arrays."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import prototxt
from geeps_caffe.caffe.blobs import Blob, BlobOwner, Shadows
from geeps_caffe.caffe.mode import MODE
from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.engines.table import open_engine
from geeps_caffe.errors import GraphError, UsageError, unknown
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.weights import copy_weights, fill_params, save_weights
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.graph import Node
from geeps_caffe.layers.base import Setting, first_elements
from geeps_caffe.schedule.program import Options

PHASES = ("TRAIN", "TEST")


class LayerView:
    """A layer's type and blobs, as in `net.layers`."""

    def __init__(self, node: Node, blobs: Sequence[Blob]) -> None:
        self.type = node.type
        self.blobs = list(blobs)
        self.layer = node.layer


class Net(BlobOwner):
    """A net from a prototxt, run by hand.

    Args:
        file: the net's prototxt.
        args: the phase (TRAIN or TEST); or, in the old form, weights and phase.
        phase, weights, level, stages: as in pycaffe.
        engine, dtype: ours; the default is the best engine, in float32.
    """

    def __init__(
        self,
        file: str,
        *args: Any,
        phase: int | None = None,
        weights: str | None = None,
        level: int = 0,
        stages: Sequence[str] | None = None,
        engine: str | None = None,
        dtype: str | None = None,
    ) -> None:
        if len(args) >= 2 and isinstance(args[0], str):
            weights, phase = args[0], args[1]
        elif args:
            phase = args[0]
            level = args[1] if len(args) > 1 else level
        if phase is None:
            raise UsageError("Net needs a phase: Net(file, geeps_caffe.TEST)")
        document = prototxt.read_net(str(file))
        state = NetState(PHASES[phase], level, tuple(stages or ()))
        planned = plan_by_hand(document, state, engine, dtype)
        fill_params(planned, planned.seed)
        self._adopt(planned)
        for path in (weights or "").split(","):
            if path:
                self.copy_from(path)

    @classmethod
    def of(cls, planned: PlannedNet) -> "Net":
        """The view of a net that a solver owns."""
        net = cls.__new__(cls)
        net._adopt(planned)
        return net

    def _adopt(self, planned: PlannedNet) -> None:
        self._net = planned
        self._shadows = Shadows()
        self._pending: dict[str, Shape] = {}
        self._zeros: dict[str, Array] = {}
        self._passes = 0
        self._after_backward = False
        graph = planned.graph
        self.name = graph.name
        self.blobs = OrderedDict((blob, Blob(self, blob)) for blob in graph.blobs)
        self.params = OrderedDict(
            (node.name, [Blob(self, f"param:{key}") for key in node.params])
            for node in graph.nodes
            if node.params
        )
        self.layers = [
            LayerView(node, self.params.get(node.name, ())) for node in graph.nodes
        ]
        self.layer_dict = OrderedDict(
            (node.name, view)
            for node, view in zip(graph.nodes, self.layers, strict=True)
        )
        self._layer_names = [node.name for node in graph.nodes]
        blob_of = {name: value.blob for name, value in graph.values.items()}
        self.top_names = OrderedDict(
            (n.name, [blob_of[t] for t in n.tops]) for n in graph.nodes
        )
        self.bottom_names = OrderedDict(
            (n.name, [blob_of[b] for b in n.bottoms]) for n in graph.nodes
        )
        self.inputs = [blob_of[value] for value in graph.inputs]
        self.outputs = list(graph.outputs)

    @property
    def blob_loss_weights(self) -> "OrderedDict[str, float]":
        """The loss weight of every blob."""
        found: OrderedDict[str, float] = OrderedDict.fromkeys(self.blobs, 0.0)
        graph = self._net.graph
        for node in graph.nodes:
            for top, weight in zip(node.tops, node.loss_weights, strict=True):
                found[graph.values[top].blob] = weight
        return found

    # -- run -------------------------------------------------------------------

    def before_run(self) -> None:
        """Take on what Python has changed: shapes and values."""
        self.reshape()
        self._shadows.carry_back(self._net.executor)

    def after_run(self) -> None:
        """Show the new values in the arrays that Python holds."""
        self._shadows.refresh(self._net.executor)

    def set_input_arrays(self, data: Array, labels: Array) -> None:
        """Give the net's MemoryData layer its records: (n, C, H, W), and n labels."""
        for node in self._net.graph.nodes:
            if node.type == "MemoryData":
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
        for name, values in inputs.items():
            self._set_input(name, values)
        first, last = self._range(start, end)
        if first == 0:
            self._net.follow_sources()
        executor = self._net.executor
        self._begin()
        self._shadows.carry_back(executor)
        program = executor.plan.program
        executor.run(
            lambda position, _: (
                0 <= position < program.backward_start
                and first <= program.owners[position] <= last
            )
        )
        self._after_backward = False
        self._shadows.refresh(executor)
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
        for name, values in outputs.items():
            self._known_blob(name)
            self.blobs[name].diff[...] = values
        last, first = self._range(end, start)
        executor = self._net.executor
        self._shadows.carry_back(executor)
        program = executor.plan.program
        executor.run(
            lambda position, _: (
                position >= program.backward_start
                and last <= program.owners[position] <= first
            )
        )
        self._after_backward = True
        self._shadows.refresh(executor)
        named = self.bottom_names[end] if end is not None else self.inputs
        wanted = dict.fromkeys([*named, *(diffs or ())])
        return {name: self.blobs[name].diff for name in wanted}

    def clear_param_diffs(self) -> None:
        """Set the gradients of all params to zero."""
        executor = self._net.executor
        self._shadows.carry_back(executor)
        for name, array in executor.plan.program.arrays.items():
            if array.home != "arena" and name.endswith(".diff"):
                executor.memory.after(name)[...] = 0
        self._shadows.refresh(executor)

    def reshape(self) -> None:
        """Give all blobs the shapes that follow from those of the inputs."""
        if not self._pending:
            return
        pending, self._pending = self._pending, {}
        if self._net.reshape(pending):
            self._shadows.forget()
            self._zeros.clear()

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

    def _set_input(self, name: str, values: Array) -> None:
        self._known_blob(name)
        blob = self.blobs[name]
        values = np.asarray(values)
        if values.shape[:1] != blob.shape[:1]:
            raise UsageError(
                f"input {name!r} has shape {values.shape}, but the blob has "
                f"{blob.shape}; call net.blobs[{name!r}].reshape(...) first"
            )
        blob.data[...] = values.reshape(blob.shape)

    def _known_blob(self, name: str) -> None:
        if name not in self.blobs:
            raise GraphError(unknown("blob", name, self.blobs))

    # -- blobs -----------------------------------------------------------------

    def blob_data(self, name: str) -> Array:
        """See Blob.data."""
        self.reshape()
        executor = self._net.executor
        program = executor.plan.program
        if name.startswith("param:"):
            return self._shadows.show(executor, program.params[name[6:]])
        value = self._net.graph.last_value(name).name
        shown = self._shadows.show(executor, program.data[value])
        varies = value in program.dynamic
        return first_elements(shown, executor.shape(value)) if varies else shown

    def blob_diff(self, name: str) -> Array:
        """See Blob.diff; zeros where backward writes nothing."""
        self.reshape()
        executor = self._net.executor
        array = self._diff_array(name)
        if array is None:
            shape = self.blob_shape(name)
            if name not in self._zeros or self._zeros[name].shape != shape:
                self._zeros[name] = np.zeros(shape, self._net.options.dtype)
            return self._zeros[name]
        shown = self._shadows.show(executor, array)
        if name.startswith("param:"):
            return shown
        value = self._net.graph.last_value(name).name
        varies = value in executor.plan.program.dynamic
        return first_elements(shown, executor.shape(value)) if varies else shown

    def _diff_array(self, name: str) -> str | None:
        program = self._net.executor.plan.program
        if name.startswith("param:"):
            array = f"{name[6:]}.diff"
            return array if array in program.arrays else None
        graph = self._net.graph
        find = graph.first_value if self._after_backward else graph.last_value
        return program.diff.get(find(name).name)

    def blob_shape(self, name: str) -> Shape:
        """See Blob.shape."""
        if name.startswith("param:"):
            return self._net.graph.params[name[6:]].shape
        if name in self._pending:
            return self._pending[name]
        self.reshape()
        value = self._net.graph.last_value(name)
        dynamic = value.name in self._net.program.dynamic
        return self._net.executor.shape(value.name) if dynamic else value.shape

    def blob_reshape(self, name: str, shape: Sequence[int]) -> None:
        """See Blob.reshape."""
        if name.startswith("param:"):
            if count(tuple(shape)) != count(self.blob_shape(name)):
                raise UsageError("params keep their shape; they can't be reshaped")
            return
        if name in self.inputs:
            self._pending[name] = tuple(shape)

    # -- weights ---------------------------------------------------------------

    def copy_from(self, path: str) -> None:
        """Copy weights from a .caffemodel or .caffemodel.h5 by layer name."""
        self._shadows.carry_back(self._net.executor)
        copy_weights(self._net, str(path))
        self._shadows.refresh(self._net.executor)

    def save(self, path: str) -> None:
        """Write a .caffemodel (or .h5, by the name's ending)."""
        self._shadows.carry_back(self._net.executor)
        save_weights(self._net, str(path))

    def share_with(self, other: "Net") -> None:
        """Use the params of another net, by layer name."""
        raise NotImplementedError


@contextmanager
def driven(*nets: Net) -> Iterator[None]:
    """While a solver runs nets, whose arrays Python may hold and have written."""
    for net in nets:
        net.before_run()
    yield
    for net in nets:
        net.after_run()


def plan_by_hand(
    document: Any,
    state: NetState,
    engine: str | None = None,
    dtype: str | None = None,
    table_of: Mapping[str, str] | None = None,
) -> PlannedNet:
    """A net whose every blob stays readable and whose gradients add up."""
    message = document.message
    if message.HasField("state"):  # Caffe merges the net's own state in
        own = message.state
        state = NetState(
            state.phase,
            state.level or own.level,
            tuple(dict.fromkeys((*own.stage, *state.stages))),
        )
    source = Source(message, document.path, document.layer_lines)
    seed = MODE.seed if MODE.seed is not None else 1
    graph = build_graph(source, state, Setting(seed=seed))
    kind = dtype or MODE.dtype
    backward = any(node.needs_backward for node in graph.nodes)
    options = Options(kind, backward, keep_all=True, accumulate=True)
    opened = open_engine(engine or MODE.engine, MODE.threads)
    return PlannedNet(graph, opened, options, seed=seed, table_of=table_of or {})
