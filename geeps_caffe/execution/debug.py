"""debug_info: mean absolute values of every blob, as each layer leaves it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import TypeAlias

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.reports import BlobMean, ParamNorms
from geeps_caffe.graph.graph import Node
from geeps_caffe.schedule.instructions import Instruction, Table

#: Told the position in the plan of an instruction that has run, and the instruction.
After: TypeAlias = Callable[[int, Instruction], None]


def watched_step(
    net: PlannedNet, run: Callable[[After], None]
) -> list[BlobMean | ParamNorms]:
    """One batch forward and backward, and what Caffe's debug_info says about it.

    `run` computes the batch and calls what it is given after each instruction. Params
    are those that the batch was computed with, as Caffe's updates come later.
    """
    sizes = _Sizes(net)
    sizes.note_params()
    run(sizes.after)
    nodes = net.graph.nodes
    found: list[BlobMean | ParamNorms] = []
    for node in nodes:
        found += _forward(sizes, node)
    for node in reversed(nodes):
        if node.needs_backward:
            found += _backward(sizes, node)
    return [*found, _norms(sizes)]


def watched_forward(net: PlannedNet) -> list[BlobMean | ParamNorms]:
    """A batch forward alone, as a test does it, and what debug_info says about it."""
    sizes = _Sizes(net)
    sizes.note_params()
    end = net.program.backward_start
    net.executor.run(lambda position, _: position < end, sizes.after)
    return [mean for node in net.graph.nodes for mean in _forward(sizes, node)]


@dataclass(frozen=True)
class _Size:
    """Of an array: its count, the sum of its absolute values and of its squares."""

    count: int
    absolute: float
    squares: float

    @property
    def mean(self) -> float:
        return self.absolute / max(self.count, 1)


_EMPTY = _Size(0, 0.0, 0.0)


@dataclass
class _Sizes:
    """The sizes of arrays when they were last written, and by which node."""

    net: PlannedNet
    params: dict[str, _Size] = field(default_factory=dict)
    _last: dict[str, _Size] = field(default_factory=dict)
    _by_node: dict[tuple[str, int], _Size] = field(default_factory=dict)
    _watched: dict[str, str] = field(default_factory=dict)  # array -> value
    _owners: list[tuple[int, bool]] = field(init=False)

    def __post_init__(self) -> None:
        program, self._owners = self.net.program, self.net.executor.plan.owners()
        for arrays in (program.data, program.diff):
            for value, name in arrays.items():
                array: str | None = name
                while array is not None:  # what it is a view of has its elements
                    self._watched.setdefault(array, value)
                    array = program.arrays[array].view_of

    def note_params(self) -> None:
        for key in self.net.program.params:
            self.params[key] = _size(self.net.param(key))

    def after(self, position: int, instruction: Instruction) -> None:
        """Called after each instruction of a step."""
        if isinstance(instruction, Table):
            self._called(instruction)
            return
        net, executor = self.net, self.net.executor
        owner = self._owners[position][0]
        for name in instruction.writes:
            if name in self._watched or name.endswith(".diff"):
                size = _size(self._present(name, position))
                self._last[name] = self._by_node[name, owner] = size
            elif name in net.program.params.values():  # statistics
                key = next(k for k, n in net.program.params.items() if n == name)
                self.params[key] = _size(executor.during(name, position))

    def _present(self, name: str, position: int) -> Array:
        """What an instruction has written; of values of no fixed shape no more."""
        executor, value = self.net.executor, self._watched.get(name, "")
        varies = value in self.net.program.dynamic
        shape = executor.shape(value) if varies else None
        return executor.during(name, position, shape)

    def _called(self, call: Table) -> None:
        """Params are read now: from the table's memory, which the arena may copy yet.

        An update that was opened has no gradient so far.
        """
        for key, name in self.net.program.params.items():
            if call.call == "read" and name in call.arrays:
                self.params[key] = _size(self.net.param(key))

    def array(self, name: str) -> _Size:
        """Of an array that was written, or of the one that it is a view of."""
        while name not in self._last:
            source = self.net.program.arrays[name].view_of
            if source is None:
                return _EMPTY
            name = source
        return self._last[name]

    def gradient(self, key: str, node: Node) -> _Size:
        """Of a param's diff after a node's share of it."""
        return self._by_node.get((f"{key}.diff", node.index), _EMPTY)


def _size(array: Array) -> _Size:
    values = np.asarray(array, np.float64).ravel()
    return _Size(values.size, float(np.abs(values).sum()), float(values @ values))


def _forward(sizes: _Sizes, node: Node) -> Iterator[BlobMean]:
    graph, program = sizes.net.graph, sizes.net.program
    for value in node.tops:
        mean = sizes.array(program.data[value]).mean
        blob = graph.values[value].blob
        yield BlobMean("Forward", node.name, "top", blob, "data", mean)
    for i, key in enumerate(node.params):
        name = graph.params[key].name or str(i)
        mean = sizes.params[key].mean
        yield BlobMean("Forward", node.name, "param", name, "data", mean)


def _backward(sizes: _Sizes, node: Node) -> Iterator[BlobMean]:
    graph, program = sizes.net.graph, sizes.net.program
    for value, wanted in zip(node.bottoms, node.propagate, strict=True):
        if wanted and value in program.diff:
            mean = sizes.array(program.diff[value]).mean
            blob = graph.values[value].blob
            yield BlobMean("Backward", node.name, "bottom", blob, "diff", mean)
    for i, (key, learns) in enumerate(zip(node.params, node.learns, strict=True)):
        if learns:
            mean = sizes.gradient(key, node).mean
            yield BlobMean("Backward", node.name, "param", str(i), "diff", mean)


def _norms(sizes: _Sizes) -> ParamNorms:
    program = sizes.net.program
    data = [sizes.params[key] for key in program.params]
    names = (f"{key}.diff" for key in program.params)
    diffs = [sizes.array(name) for name in names if name in program.arrays]
    return ParamNorms(
        sum(size.absolute for size in data),
        sum(size.absolute for size in diffs),
        sqrt(sum(size.squares for size in data)),
        sqrt(sum(size.squares for size in diffs)),
    )
