"""Binding a layer's own array-module code to the arrays of a plan."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from geeps_caffe.device.array import Array, ArrayModule, Shape
from geeps_caffe.device.philox import Stream
from geeps_caffe.engines.engine import Call
from geeps_caffe.engines.functions import Functions
from geeps_caffe.engines.reference import DEFINITIONS
from geeps_caffe.engines.reference.functions import ArrayFunctions
from geeps_caffe.errors import ItemError
from geeps_caffe.execution.memory import PlanMemory
from geeps_caffe.execution.origin import first_bad, with_record
from geeps_caffe.execution.shapes import RunTimeShapes
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.base import Blob, Fit, Run, first_elements
from geeps_caffe.layers.loss import Loss
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.schedule.instructions import Compute, Load
from geeps_caffe.schedule.plan import Plan


class Others(Protocol):
    """The other workers, as layers of a training net see them within an iteration."""

    def total(self, values: Array) -> Array:
        """The sums over all workers, of float64; all must ask alike."""

    def settle(self, loss: Loss) -> None:
        """After a loss's forward: agree on what its gradient is divided by."""


class CodeBinder:
    """Makes the calls of instructions that run layer code on plain arrays."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        memory: PlanMemory,
        xp: ArrayModule,
        streams: Mapping[int, Stream],
        others: Others | None = None,
        functions: Functions | None = None,
    ) -> None:
        self.graph, self.memory = graph, memory
        self.xp, self.streams = xp, streams
        self.functions = functions or ArrayFunctions(xp)
        self.others = others
        self.shapes = RunTimeShapes(graph, plan.program.dynamic)
        self.iteration = 0

    def bind_load(self, position: int, instruction: Load) -> Call:
        """A source's forward into its tops."""
        node, device = self.graph.nodes[instruction.node], self.memory.device
        if isinstance(node.layer, SourceLayer) and not device.on_host:
            node.layer.use_device(device, self.xp, self.functions)
        tops = [Blob(self.memory.view(a, position)) for a in instruction.writes]
        return self._forward(node, self._run(node, [], []), [], tops)

    def bind(self, position: int, instruction: Compute) -> Call:
        """A layer's forward or backward; or an operation by its definition."""
        arrays = {p: self.memory.view(a, position) for p, a in instruction.ports}
        node = self.graph.nodes[instruction.node]
        if instruction.request is not None:
            return self._definition(node, instruction, arrays)
        bottom = self._blobs(instruction, arrays, "bottom", node.bottoms)
        top = self._blobs(instruction, arrays, "top", node.tops)
        params = [
            Blob(arrays[f"param{i}"], arrays.get(f"param{i}.diff"))
            for i in range(len(node.params))
        ]
        ports = [p for p in arrays if p.startswith("saved")]
        saved = [arrays[p] for p in ports]
        run = self._run(node, params, saved)
        make = self._forward if instruction.direction == "forward" else self._backward
        call = make(node, run, bottom, top)
        if isinstance(node.layer, Loss) and instruction.direction == "forward":
            call = self._watched(node.layer, position, top, call)
        if not self.shapes.varies(node):
            return call
        names = [dict(instruction.ports)[p] for p in ports]
        blobs = (bottom, top)
        return self._resized(node, instruction.direction, run, blobs, names, call)

    def _watched(self, loss: Loss, position: int, top: list[Blob], call: Call) -> Call:
        """A loss's forward that tells once where nan comes from.

        On a GPU, which would have to be waited for, only if the layer has seen it.
        """
        value, said, on_host = top[0].data, False, self.memory.device.on_host

        def watched() -> None:
            nonlocal said
            call()
            if not said and (loss.is_nan or (on_host and not np.isfinite(value))):
                said = True
                where = first_bad(self.graph, self.memory, position)
                loss.warn_once(
                    f"the loss is {float(value):g}, training has diverged"
                    + (f"; nan or inf is seen first in {where}" if where else "")
                )

        return watched

    def _blobs(
        self,
        instruction: Compute,
        arrays: Mapping[str, Array],
        kind: str,
        values: Sequence[str],
    ) -> list[Blob]:
        """The blobs at ports; data that the pass may not read is a stand-in."""
        found = []
        for i, value in enumerate(values):
            data = arrays.get(f"{kind}{i}")
            if data is None:
                shape = self.graph.values[value].shape
                data = np.broadcast_to(np.float32("nan"), shape)
            fit = self._fit(dict(instruction.ports), f"{kind}{i}")
            found.append(Blob(data, arrays.get(f"{kind}{i}.diff"), fit))
        return found

    def _fit(self, names: Mapping[str, str], port: str) -> Fit:
        """Where the arrays of a port lie in shapes known at run time."""
        names = {"data": names.get(port, ""), "diff": names.get(f"{port}.diff", "")}

        def fit(kind: str, block: Array, shape: Shape) -> Array:
            if not names[kind]:  # a stand-in, not to be read
                return first_elements(block, shape)
            return self.memory.fit(names[kind], block, shape)

        return fit

    def _run(self, node: Node, params: list[Blob], saved: list[Array]) -> Run:
        stream = self.streams[node.index]
        run = Run(self.xp, params, saved, stream, functions=self.functions)
        if self.others is not None:
            run.total = self.others.total
        return run

    def _forward(
        self, node: Node, run: Run, bottom: list[Blob], top: list[Blob]
    ) -> Call:
        layer, others = node.layer, self.others

        def forward() -> None:
            run.iteration = self.iteration
            try:
                layer.forward(run, bottom, top)
            except ItemError as error:
                raise with_record(self.graph, node, error) from error

        if others is None or not isinstance(layer, Loss):
            return forward

        def forward_with_others() -> None:
            forward()
            others.settle(layer)

        return forward_with_others

    def _backward(
        self, node: Node, run: Run, bottom: list[Blob], top: list[Blob]
    ) -> Call:
        layer = node.layer

        def backward() -> None:
            run.iteration = self.iteration
            layer.backward(run, top, bottom)

        return backward

    # -- shapes known at run time ----------------------------------------------

    def _definition(
        self, node: Node, instruction: Compute, arrays: dict[str, Array]
    ) -> Call:
        assert instruction.request is not None
        operation, xp = instruction.request.operation, self.xp
        run = getattr(DEFINITIONS[type(operation)], instruction.direction)
        if not self.shapes.varies(node):
            return lambda: run(operation, xp, arrays)
        fit, names = self.memory.fit, dict(instruction.ports)

        def at_run_time() -> None:
            shape = self.shapes.of(node.bottoms[0])  # a Split: all have one shape
            fitting = {p: fit(names[p], a, shape) for p, a in arrays.items()}
            run(operation, xp, fitting)

        return at_run_time

    def _resized(
        self,
        node: Node,
        direction: str,
        run: Run,
        blobs: tuple[list[Blob], list[Blob]],
        names: Sequence[str],
        call: Call,
    ) -> Call:
        """The call with all blobs in the shapes that they have in this pass.

        `blobs` are the bottoms and the tops, `names` those of the saved arrays.
        """
        (bottom, top), blocks = blobs, list(zip(names, run.saved, strict=True))

        def resize(tops: Sequence[Shape]) -> None:
            shapes = [self.shapes.of(value) for value in node.bottoms]
            for blob, shape in zip([*bottom, *top], [*shapes, *tops], strict=True):
                blob.resize(shape)
            saved = self.shapes.saved(node, shapes, tops, run)
            run.saved = [
                self.memory.fit(name, block, shape)
                for (name, block), shape in zip(blocks, saved, strict=True)
            ]

        def forward() -> None:
            shapes = [self.shapes.of(value) for value in node.bottoms]
            resize([tuple(s) for s in node.layer.starting_shapes(shapes)])
            call()
            self.shapes.set(node, top)

        def backward() -> None:
            resize([self.shapes.of(value) for value in node.tops])
            call()

        return forward if direction == "forward" else backward
