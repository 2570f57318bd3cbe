"""A plan bound to arrays, and the loop that walks its calls."""

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.philox import Stream
from geeps_caffe.engines.engine import Call, Draw, Engine
from geeps_caffe.execution.binder import Binder, Tables, nothing
from geeps_caffe.execution.layer_code import CodeBinder, Others
from geeps_caffe.execution.memory import ParamMemory, PlanMemory, TurnArena
from geeps_caffe.execution.plan_arrays import PlanArrays
from geeps_caffe.execution.steps import StepCalls
from geeps_caffe.graph.graph import Graph
from geeps_caffe.schedule.instructions import (
    Clock,
    Fill,
    Instruction,
    SwapIn,
    SwapOut,
    Table,
)
from geeps_caffe.schedule.plan import Plan


class Executor(PlanArrays):
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
        graphs: bool = True,
    ) -> None:
        self.graph = graph
        memory = PlanMemory(plan, params, engine.device, turns)
        self.streams = {
            n.index: _stream(seed, n.name, engine.draw) for n in graph.nodes
        }
        functions = engine.functions(plan.program.options.dtype)
        self._code = CodeBinder(
            graph, plan, memory, engine.xp, self.streams, others, functions
        )
        super().__init__(memory, engine, self._code.shapes)
        binder = Binder(memory, engine, self._code, tables, poison=poison)
        with self.device.running():
            #: The call of each instruction of the plan.
            self.calls = binder.bind_all()
        more = [
            nothing if _first_only(entry) else call
            for call, entry in zip(self.calls, plan.instructions, strict=True)
        ]
        self._first = StepCalls(plan, self.device, self.calls, graphs=graphs)
        self._more = StepCalls(plan, self.device, more, graphs=graphs)
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
        whole = self._backward == len(self.calls)
        calls = self._first.next() if whole else self._first.in_order
        self._walk(calls if whole else calls[: self._backward])

    def step(self, first: bool = True) -> None:
        """Forward, backward, updates and clock; gradients start at zero if `first`."""
        self._walk((self._first if first else self._more).next())

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

    def run(
        self,
        wanted: Callable[[int, Instruction], bool],
        after: Callable[[int, Instruction], None] | None = None,
    ) -> None:
        """Those instructions that `wanted` accepts (position in the program), in order.

        Calls of the parameter server are left out: a net that is driven by hand works
        on the params in place. `after` looks at each as that of `watch` does.
        """
        plan = self.plan
        with self.device.running():
            for position, (entry, call) in enumerate(
                zip(plan.instructions, self.calls, strict=True)
            ):
                if isinstance(entry, Table | Clock) or _first_only(entry):
                    continue
                if wanted(plan.origin[position], entry):
                    self._run_alone(entry, call)
                    if after is not None:
                        after(position, entry)

    def hand_in(self) -> None:
        """Only the calls of the parameter server: gradients leave as they are."""
        entries = zip(self.plan.instructions, self.calls, strict=True)
        self._walk([call for e, call in entries if isinstance(e, Table | Clock)])

    def _run_alone(self, instruction: Instruction, call: Call) -> None:
        """With some calls left out no events can be relied on: swaps are waited for."""
        swap = isinstance(instruction, SwapIn | SwapOut)
        if swap:
            self.device.synchronise()
        call()
        if swap:
            self.device.synchronise()


def _first_only(instruction: Instruction) -> bool:
    return isinstance(instruction, Fill) and instruction.when == "first"


def _stream(seed: int, name: str, draw: Draw | None) -> Stream:
    return Stream(seed, zlib.crc32(name.encode()), 0, np.zeros(1, np.int64), draw)


def _first_backward(plan: Plan) -> int:
    """Position of the first instruction of the backward pass."""
    start = plan.program.backward_start
    for position, source in enumerate(plan.origin):
        if source >= start:
            return position
    return len(plan.instructions)
