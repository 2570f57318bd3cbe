"""Blobs that layers change in place, which have one memory in Caffe.

A plan gives each state of such a blob an array of its own. What Python sees as the
blob is one of them: of the data that of the last state, of the gradients that of the
first state which has one. When a part of the net runs, it is copied to the state that
the part begins with before, and from the state that the part ends with after.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from geeps_caffe.graph.graph import Graph, Value
from geeps_caffe.schedule.program import Program

Copies: TypeAlias = Iterator[tuple[str, str]]  # arrays: from, to
States: TypeAlias = list[Value]  # of one blob, in their order


@dataclass(frozen=True)
class Part:
    """Layers that run, numbers `first` to `last` of the net; none where it is less."""

    first: int
    last: int
    backward: bool = False

    def has(self, layer: int | None) -> bool:
        """Whether a layer runs."""
        return layer is not None and self.first <= layer <= self.last

    def layers(self) -> range:
        """The layers in the order in which they run."""
        if self.backward:
            return range(self.last, self.first - 1, -1)
        return range(self.first, self.last + 1)

    def split(self, layer: int, done: bool) -> tuple["Part", "Part"]:
        """What has run before a layer, or with it if it is done, and what has not."""
        if self.backward:
            cut = layer if done else layer + 1
            return Part(cut, self.last, True), Part(self.first, cut - 1, True)
        cut = layer + 1 if done else layer
        return Part(self.first, cut - 1), Part(cut, self.last)


def copies_before(graph: Graph, program: Program, part: Part) -> Copies:
    """From what Python sees to what the part reads."""
    find = _gradients_before if part.backward else _data_before
    return find(graph, program, part)


def copies_after(graph: Graph, program: Program, part: Part) -> Copies:
    """From what the part has written last to what Python sees."""
    find = _gradients_after if part.backward else _data_after
    return find(graph, program, part)


def copies_of_inputs(graph: Graph, program: Program) -> Copies:
    """From what layers read of inputs, DummyData's too, to what Python sees of them."""
    for states in _changed(graph):
        if graph.nodes[states[0].source].type in ("Input", "DummyData"):
            yield program.data[states[0].name], program.data[states[-1].name]


def shown_gradient(graph: Graph, program: Program, blob: str) -> str | None:
    """The array that Python sees as a blob's gradient; None where there is none."""
    states = (v.name for v in graph.values.values() if v.blob == blob)
    return next((program.diff[name] for name in states if name in program.diff), None)


def written_gradients(graph: Graph, part: Part) -> set[str]:
    """The values whose gradients the layers of a part write: their bottoms."""
    return {
        bottom
        for node in graph.nodes[max(part.first, 0) : part.last + 1]
        for bottom, wanted in zip(node.bottoms, node.propagate, strict=True)
        if wanted
    }


def _data_before(graph: Graph, program: Program, part: Part) -> Copies:
    for states in _changed(graph):
        below = [
            state
            for state in states[:-1]
            if state.source < part.first or state.name in graph.inputs
        ]
        if below and part.has(states[len(below)].source):
            yield program.data[states[-1].name], program.data[below[-1].name]


def _data_after(graph: Graph, program: Program, part: Part) -> Copies:
    for states in _changed(graph):
        written = [
            state
            for state in states
            if part.has(state.source) and state.name not in graph.inputs
        ]
        if written and written[-1] is not states[-1]:
            yield program.data[written[-1].name], program.data[states[-1].name]


def _gradients_before(graph: Graph, program: Program, part: Part) -> Copies:
    written = written_gradients(graph, part)
    for states in _with_gradients(graph, program):
        below = [state.name for state in states if part.has(state.source)]
        if below and below[-1] != states[0].name and below[-1] not in written:
            yield program.diff[states[0].name], program.diff[below[-1]]


def _gradients_after(graph: Graph, program: Program, part: Part) -> Copies:
    written = written_gradients(graph, part)
    for states in _with_gradients(graph, program):
        names = [state.name for state in states if state.name in written]
        if names and names[0] != states[0].name:
            yield program.diff[names[0]], program.diff[states[0].name]


def _with_gradients(graph: Graph, program: Program) -> Iterator[States]:
    """The states that have gradients, of the blobs that are changed."""
    for states in _changed(graph):
        found = [state for state in states if state.name in program.diff]
        if found:
            yield found


def _changed(graph: Graph) -> list[States]:
    """The states of each blob that has several."""
    states: dict[str, States] = {}
    for value in graph.values.values():
        states.setdefault(value.blob, []).append(value)
    return [found for found in states.values() if len(found) > 1]
