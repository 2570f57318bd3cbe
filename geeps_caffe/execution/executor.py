"""A plan bound to arrays: a list of calls, and the loop that walks it."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.device.events import Step
from geeps_caffe.device.philox import Stream
from geeps_caffe.device.streams import COMPUTE
from geeps_caffe.engines.engine import Call, Draw, Engine, Layout, Request, plain_layout
from geeps_caffe.engines.operations import Sum
from geeps_caffe.execution.layer_code import CodeBinder, Others
from geeps_caffe.execution.memory import ParamMemory, PlanMemory, TurnArena
from geeps_caffe.graph.graph import Graph
from geeps_caffe.layers.base import first_elements
from geeps_caffe.schedule.hand_overs import plan_steps
from geeps_caffe.schedule.instructions import (
    Accumulate,
    Clock,
    Compute,
    Fill,
    Instruction,
    Load,
    PlannedArray,
    Reorder,
    SwapIn,
    SwapOut,
    Table,
)
from geeps_caffe.schedule.plan import Plan

_LARGE = 1 << 16  # elements of arrays that several threads add faster than one


class Tables(Protocol):
    """What the executor asks of the parameter server."""

    def call(self, ordinal: int, instruction: Table | Clock) -> Call:
        """The call behind the plan's `ordinal`-th Table or Clock instruction."""
        ...


class Executor:
    """Runs one plan. Arrays are bound once; a step is a walk over calls.

    All arrays come from the engine's device, which also orders the calls. When a run
    returns, its work is done.
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        engine: Engine,
        params: ParamMemory,
        tables: Tables | None = None,
        *,
        others: Others | None = None,
        turns: TurnArena | None = None,
        seed: int = 1,
        poison: bool = False,
    ) -> None:
        self.graph, self.plan, self.engine = graph, plan, engine
        self.device = engine.device
        self.memory = PlanMemory(plan, params, self.device, turns)
        self.streams = {
            n.index: _stream(seed, n.name, engine.draw) for n in graph.nodes
        }
        self._tables = tables
        self._poison = poison
        self._code = CodeBinder(
            graph, plan, self.memory, engine.xp, self.streams, others
        )
        self._ordinal = 0
        entries = plan.instructions
        with self.device.running():
            #: The call of each instruction of the plan.
            self.calls = [self._bind(i, entry) for i, entry in enumerate(entries)]
        self._first = self._in_order(self.calls)
        self._more = self._in_order(
            [
                _nothing if _first_only(entry) else call
                for call, entry in zip(self.calls, entries, strict=True)
            ]
        )
        self._backward = _first_backward(plan)

    # -- run -------------------------------------------------------------------

    def begin(self, iteration: int, records: Array) -> None:
        """Set what random numbers depend on: iteration and global record indices."""
        for stream in self.streams.values():
            stream.iteration = iteration
            stream.records = records
        self._code.iteration = iteration

    def forward(self) -> None:
        """All instructions before the backward pass."""
        self._walk(self._first[: self._backward])

    def step(self, first: bool = True) -> None:
        """Forward, backward, updates and clock; gradients start at zero if `first`."""
        self._walk(self._first if first else self._more)

    def _walk(self, calls: Sequence[Call]) -> None:
        with self.device.running():
            for call in calls:
                call()

    def watch(self, first: bool, after: Callable[[int, Instruction], None]) -> None:
        """A step that stops after each instruction, for `after` to look at it."""
        for position, entry in enumerate(self.plan.instructions):
            if first or not _first_only(entry):
                self._walk([self.calls[position]])
                after(position, entry)

    def run(self, wanted: Callable[[int, Instruction], bool]) -> None:
        """Those instructions that `wanted` accepts (position in the program), in order.

        Calls of the parameter server are left out: a net that is driven by hand works
        on the params in place.
        """
        plan = self.plan
        entries = zip(plan.origin, plan.instructions, self.calls, strict=True)
        with self.device.running():
            for origin, entry, call in entries:
                if isinstance(entry, Table | Clock) or _first_only(entry):
                    continue
                if wanted(origin, entry):
                    self._run_alone(entry, call)

    def _run_alone(self, instruction: Instruction, call: Call) -> None:
        """With some calls left out no events can be relied on: swaps are waited for."""
        swap = isinstance(instruction, SwapIn | SwapOut)
        if swap:
            self.device.synchronise()
        call()
        if swap:
            self.device.synchronise()

    # -- order -----------------------------------------------------------------

    def _in_order(self, calls: Sequence[Call]) -> list[Call]:
        if self.device.on_host:
            return list(calls)
        steps = [
            replace(step, queue=self._queue(entry, step))
            for entry, step in zip(
                self.plan.instructions, plan_steps(self.plan), strict=True
            )
        ]
        return self.device.in_order(steps, calls)

    def _queue(self, instruction: Instruction, step: Step) -> str:
        """Sources write by way of computing; tables on the device are updated there."""
        on_device = not self.plan.program.leases
        if isinstance(instruction, Load):
            return COMPUTE
        if isinstance(instruction, Table | Clock) and on_device:
            return COMPUTE
        return step.queue

    # -- bind ------------------------------------------------------------------

    def _bind(self, position: int, instruction: Instruction) -> Call:
        match instruction:
            case Load():
                return self._code.bind_load(position, instruction)
            case Compute(request=None) | Compute(description=None):
                return self._code.bind(position, instruction)
            case Compute():
                return self._bind_operation(position, instruction)
            case Reorder():
                return self._bind_reorder(position, instruction)
            case Fill():
                return self._bind_fill(position, instruction)
            case Accumulate():
                return self._bind_accumulate(position, instruction)
            case Table() | Clock():
                assert self._tables is not None
                self._ordinal += 1
                return self._tables.call(self._ordinal - 1, instruction)
            case SwapIn() | SwapOut():
                return self._bind_swap(position, instruction)

    def _bind_operation(self, position: int, instruction: Compute) -> Call:
        assert instruction.request is not None
        assert instruction.description is not None
        arrays = {p: self.memory.view(a, position) for p, a in instruction.ports}
        scratch = (
            self.memory.view(instruction.scratch, position)
            if instruction.scratch
            else None
        )
        return self.engine.bind(
            instruction.request, instruction.description, arrays, scratch
        )

    def _bind_reorder(self, position: int, instruction: Reorder) -> Call:
        arrays = self.plan.program.arrays
        source, target = arrays[instruction.source], arrays[instruction.target]
        return self.engine.bind_reorder(
            source.shape,
            (self.memory.view(source.name, position), source.layout),
            (self.memory.view(target.name, position), target.layout),
            source.dtype,
        )

    def _bind_fill(self, position: int, instruction: Fill) -> Call:
        view = self.memory.view(instruction.array, position)
        if view.dtype == np.uint8:
            view = view.view(self.plan.program.options.dtype)

        def fill() -> None:
            view[...] = instruction.value

        if instruction.when != "once":
            return fill
        fill()
        return _nothing

    def _bind_accumulate(self, position: int, instruction: Accumulate) -> Call:
        """Element by element in the arrays' own layout, padding included."""
        dtype = np.dtype(self.plan.program.options.dtype)
        source = self.memory.view(instruction.source, position)
        target = self.memory.view(instruction.target, position)
        source, target = _flat(source, dtype), _flat(target, dtype)
        if self.device.on_host and target.size >= _LARGE:
            quick = _bind_sum(self.engine, target, source)
            if quick is not None:
                return quick
        add = self.engine.xp.add

        def accumulate() -> None:
            add(target, source, out=target)

        return accumulate

    def _bind_swap(self, position: int, instruction: SwapIn | SwapOut) -> Call:
        arena, host = self.memory.swap_block(instruction.storage, position)
        if isinstance(instruction, SwapIn):
            return self.device.bind_copy_in(host, arena)
        return self.device.bind_copy_out(arena, host, poison=self._poison)

    # -- read ------------------------------------------------------------------

    def value(self, blob_value: str) -> Array:
        """A value's data after the step, in its plain shape."""
        found = self.plain(self.plan.program.data[blob_value])
        if blob_value in self.plan.program.dynamic:
            return first_elements(found, self.shape(blob_value))
        return found

    def shape(self, blob_value: str) -> Shape:
        """A value's shape after the step."""
        return self._code.shapes.of(blob_value)

    def plain(self, name: str) -> Array:
        """An array after the step: the memory itself if `in_place`, else a copy."""
        array = self.plan.program.arrays[name]
        if array.layout.plain:
            return self.device.to_host(self.memory.after(name))
        copy = np.empty(array.shape, array.dtype)
        self.copy_out(name, copy)
        return copy

    def in_place(self, name: str) -> bool:
        """Whether `plain` shows the memory itself, which may then be written."""
        return self.device.on_host and self.plan.program.arrays[name].layout.plain

    def during(self, name: str, position: int) -> Array:
        """An array as instruction `position` leaves it, as `plain` shows it."""
        array = self.plan.program.arrays[name]
        memory = self.memory.view(name, position)
        if array.layout.plain:
            return self.device.to_host(memory)
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
        self._walk([lambda: self.memory.after(name).fill(0)])

    def _reorder(
        self, name: str, source: tuple[Array, Layout], target: tuple[Array, Layout]
    ) -> None:
        array = self.plan.program.arrays[name]
        self._walk([self.engine.bind_reorder(array.shape, source, target, array.dtype)])


def _bind_sum(engine: Engine, target: Array, source: Array) -> Call | None:
    """target += source by the engine's threads; None where it has none for that."""
    ports = {"bottom0": target, "bottom1": source, "top0": target}
    shapes = dict.fromkeys(ports, target.shape)
    request = Request(
        Sum((1.0, 1.0)), "forward", shapes, dtype=target.dtype, training=False
    )
    description = engine.describe(request)
    if description is None or description.scratch:
        return None
    if not all(layout.plain for layout in description.layouts.values()):
        return None
    return engine.bind(request, description, ports, None)


def _nothing() -> None:
    """What is left of an instruction that ran when the plan was bound."""


def _plain_layout(array: PlannedArray) -> Layout:
    return plain_layout(array.shape, array.dtype)


def _first_only(instruction: Instruction) -> bool:
    return isinstance(instruction, Fill) and instruction.when == "first"


def _flat(array: Array, dtype: np.dtype[Any]) -> Array:
    flat = array.reshape(-1)
    return flat.view(dtype) if flat.dtype == np.uint8 else flat


def _stream(seed: int, name: str, draw: Draw | None) -> Stream:
    return Stream(seed, zlib.crc32(name.encode()), 0, np.zeros(1, np.int64), draw)


def _first_backward(plan: Plan) -> int:
    """Position of the first instruction of the backward pass."""
    start = plan.program.backward_start
    for position, source in enumerate(plan.origin):
        if source >= start:
            return position
    return len(plan.instructions)
