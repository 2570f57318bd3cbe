"""Where a wrong value came from: the record of an item, the layer of the first nan."""

from collections.abc import Iterator

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ItemError
from geeps_caffe.execution.memory import PlanMemory
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.schedule.instructions import SwapIn

#: Layers behind which items are what they were, if there are as many.
_PASSING = frozenset({"Split", "Reshape", "Flatten"})


def with_record(graph: Graph, node: Node, error: ItemError) -> ItemError:
    """The error with the record that the item is, where a source tells it."""
    value = graph.values[node.bottoms[error.bottom]]
    origin = graph.nodes[value.source]
    while origin.type in _PASSING:
        before = graph.values[origin.bottoms[0]]
        if before.shape[:1] != value.shape[:1]:
            return error
        origin = graph.nodes[before.source]
    if not isinstance(origin.layer, SourceLayer):
        return error
    where = f"; it is {origin.layer.record(error.item)}"
    return ItemError(f"{error}{where}", error.bottom, error.item)


def first_bad(graph: Graph, memory: PlanMemory, position: int) -> str:
    """The first layer whose params or tops are not finite at an instruction, or "".

    Looks at what is in memory still. Padding of engines' layouts is 0, so all bytes
    of an array may be looked at.
    """
    program = memory.plan.program
    here = dict(_written_before(memory, position))
    for node in graph.nodes:
        for i, key in enumerate(node.params):
            array = program.arrays[program.params[key]]
            if array.home != "arena" and not _finite(
                memory.view(array.name, position), array.dtype
            ):
                return f"{node.title}, whose blob {i} holds nan or inf already"
        for value in node.tops:
            if value not in program.data:
                continue  # it is not made: a pass has merged the layers around it
            name = program.root(program.data[value])
            array = program.arrays[name]
            if name not in here and array.storage in program.persistent:
                here[name] = memory.after(name)  # an input, which nothing writes
            if name in here and not _finite(here[name], array.dtype):
                return node.title
    return ""


def _finite(array: Array, dtype: str) -> bool:
    values = array.view(dtype) if array.dtype == np.uint8 else array
    return bool(abs(values).max() < np.inf) if values.size else True


def _written_before(memory: PlanMemory, position: int) -> Iterator[tuple[str, Array]]:
    """Arrays of the arena that nothing has been written over since they were made."""
    plan, sizes = memory.plan, memory.plan.program.storage_bytes()
    alive: dict[str, tuple[int, int, int]] = {}  # begin, end, instruction
    for i, instruction in enumerate(plan.instructions[: position + 1]):
        places = plan.places[i]
        if isinstance(instruction, SwapIn):
            written = {"": instruction.storage}
        else:
            arrays = plan.program.arrays
            written = {name: arrays[name].storage for name in instruction.writes}
        for name, storage in written.items():
            if storage not in places:
                continue
            begin, end = places[storage], places[storage] + sizes[storage]
            alive = {n: s for n, s in alive.items() if s[1] <= begin or s[0] >= end}
            if name:
                alive[name] = (begin, end, i)
    for name, (_, _, i) in alive.items():
        yield name, memory.view(name, i)
