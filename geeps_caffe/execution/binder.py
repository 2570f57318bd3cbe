"""Binds the instructions of a plan to arrays: a call for each."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.engines.engine import Call, Engine, Request
from geeps_caffe.engines.operations import Sum
from geeps_caffe.execution.layer_code import CodeBinder
from geeps_caffe.execution.memory import PlanMemory
from geeps_caffe.execution.param_parts import bind_parts, bind_sums
from geeps_caffe.execution.update_rows import bind_rows
from geeps_caffe.schedule.instructions import (
    Accumulate,
    AddParts,
    Clock,
    Compute,
    Fill,
    Instruction,
    Load,
    ParamParts,
    Reorder,
    SwapIn,
    SwapOut,
    Table,
    UpdateRows,
)

_LARGE = 1 << 16  # elements of arrays that several threads add faster than one


class Tables(Protocol):
    """What the executor asks of the parameter server."""

    def call(self, ordinal: int, instruction: Table | Clock) -> Call:
        """The call behind the plan's `ordinal`-th Table or Clock instruction."""
        ...

    def bind_part(self, key: str, start: int, update: Array) -> Call:
        """The call that updates a param's elements from `start` on."""
        ...

    def bind_hand_over(self, gradient: Array, copy: Call) -> Call:
        """What brings a finished gradient to its table's memory; `copy` does alone."""
        ...


class Binder:
    """Makes calls, in the order of the plan.

    Args:
        memory: the plan's.
        engine: binds operations and reorders.
        code: binds what layers compute themselves.
        tables: of a plan that has any.
        poison: overwrite what is swapped out.
    """

    def __init__(
        self,
        memory: PlanMemory,
        engine: Engine,
        code: CodeBinder,
        tables: Tables | None,
        *,
        poison: bool,
    ) -> None:
        self._memory, self._engine, self._code = memory, engine, code
        self._tables, self._poison = tables, poison
        self._arrays = memory.plan.program.arrays
        self._dtype = np.dtype(memory.plan.program.options.dtype)
        self._ordinal = 0

    def bind_all(self) -> list[Call]:
        """The call of each instruction."""
        entries = self._memory.plan.instructions
        return [self._bind(position, entry) for position, entry in enumerate(entries)]

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
            case UpdateRows():
                assert self._tables is not None
                part = partial(self._tables.bind_part, instruction.key)
                return bind_rows(
                    self._memory, self._engine, part, position, instruction
                )
            case ParamParts():
                return bind_parts(self._memory, self._engine, position, instruction)
            case AddParts():
                return self._bind_add_parts(position, instruction)
            case SwapIn() | SwapOut():
                return self._bind_swap(position, instruction)

    def _bind_operation(self, position: int, instruction: Compute) -> Call:
        assert instruction.request is not None
        assert instruction.description is not None
        view = self._memory.view
        arrays = {port: view(name, position) for port, name in instruction.ports}
        name = instruction.scratch
        scratch = view(name, position) if name else None
        return self._engine.bind(
            instruction.request, instruction.description, arrays, scratch
        )

    def _bind_reorder(self, position: int, instruction: Reorder) -> Call:
        source = self._arrays[instruction.source]
        target = self._arrays[instruction.target]
        return self._engine.bind_reorder(
            source.shape,
            (self._memory.view(source.name, position), source.layout),
            (self._memory.view(target.name, position), target.layout),
            source.dtype,
        )

    def _bind_fill(self, position: int, instruction: Fill) -> Call:
        view = self._memory.view(instruction.array, position)
        if view.dtype == np.uint8:
            view = view.view(self._dtype)

        memory, name = self._memory, instruction.array

        def fill() -> None:
            view[...] = instruction.value
            larger = memory.larger(name)
            if larger is not None:
                larger[...] = instruction.value

        if instruction.when != "once":
            return fill
        fill()
        return nothing

    def _bind_accumulate(self, position: int, instruction: Accumulate) -> Call:
        """Element by element in the arrays' own layout, padding included."""
        source = self._memory.view(instruction.source, position)
        target = self._memory.view(instruction.target, position)
        source, target = _flat(source, self._dtype), _flat(target, self._dtype)
        if self._engine.device.on_host and target.size >= _LARGE:
            quick = _bind_sum(self._engine, target, source)
            if quick is not None:
                return quick
        add: Callable[..., object] = self._engine.xp.add

        def accumulate() -> None:
            add(target, source, out=target)

        return accumulate

    def _bind_add_parts(self, position: int, instruction: AddParts) -> Call:
        view = self._memory.view
        rows = [view(name, position) for name in instruction.sources]
        sums = [view(name, position) for name in instruction.targets]
        sums = [_flat(array, self._dtype) for array in sums]
        return bind_sums(self._engine, list(zip(rows, sums, strict=True)))

    def _bind_swap(self, position: int, instruction: SwapIn | SwapOut) -> Call:
        arena, host = self._memory.swap_block(instruction.storage, position)
        device = self._engine.device
        if isinstance(instruction, SwapIn):
            return device.bind_copy_in(host, arena)
        copy = device.bind_copy_out(arena, host, poison=self._poison)
        if self._tables is None or not self._finishes(position, instruction.storage):
            return copy
        return self._tables.bind_hand_over(arena, copy)

    def _finishes(self, position: int, storage: str) -> bool:
        """Whether a table's gradient leaves the arena here for the last time."""
        plan = self._memory.plan
        if not plan.program.leases.get(storage, "").endswith(".diff"):
            return False
        return SwapOut(storage) not in plan.instructions[position + 1 :]


def nothing() -> None:
    """What is left of an instruction that ran when the plan was bound."""


def _flat(array: Array, dtype: np.dtype[Any]) -> Array:
    flat = array.reshape(-1)
    return flat.view(dtype) if flat.dtype == np.uint8 else flat


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
