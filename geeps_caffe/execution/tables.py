"""The learnable blobs of a training net as tables of the GeePS client."""

from collections.abc import Callable, Mapping

import numpy as np

from geeps_caffe.device.array import Array, aligned
from geeps_caffe.device.nccl import GpuRing
from geeps_caffe.engines.engine import Call
from geeps_caffe.execution.memory import ParamMemory
from geeps_caffe.graph.graph import Graph
from geeps_caffe.paramserver import Client, Segment
from geeps_caffe.paramserver import Table as ServerTable
from geeps_caffe.schedule.instructions import Clock, Instruction, Table
from geeps_caffe.schedule.program import Program
from geeps_caffe.solvers import Hyper


class ParamTables:
    """Makes the tables of a program, records its accesses, and binds its calls."""

    def __init__(
        self,
        client: Client,
        program: Program,
        graph: Graph,
        gpus: GpuRing | None = None,
    ) -> None:
        self.client = client
        self._gpus = gpus  # which add gradients up before one hands them in
        self.keys: dict[str, list[str]] = {}  # table -> keys
        self.offsets: dict[str, int] = {}  # key -> first element in its table
        self.sizes: dict[str, int] = {}  # key -> elements, padding included
        self.totals: dict[str, int] = {}  # table -> elements
        self._program, self._graph = program, graph
        self._handles: list[list[int | None]] = []  # by body, then by ordinal
        self.body = 0
        #: Called with a table's name before its update is handed in.
        self.finish: Callable[[str], None] | None = None

    def create(
        self,
        tables: Mapping[str, str],
        rule: str,
        reduce: str,
        hyper: Hyper,
        slack: int = 0,
    ) -> list[ServerTable]:
        """Create the tables at the client, in the order of first use."""
        for key in self._program.params:
            if key in tables:
                self.keys.setdefault(tables[key], []).append(key)
        made = [self._table(name, keys, slack) for name, keys in self.keys.items()]
        gathered = self._gpus is not None
        self.client.create_tables(made, rule, reduce, hyper, gathered)
        return made

    def _table(self, name: str, keys: list[str], slack: int) -> ServerTable:
        dtype = np.dtype(self._program.options.dtype)
        segments, layouts, end = [], [], 0
        for key in keys:
            array = self._program.arrays[self._program.params[key]]
            param = self._graph.params[key]
            size = array.layout.nbytes // dtype.itemsize
            self.offsets[key], self.sizes[key] = end, size
            segments.append(Segment(key, end, size, param.lr_mult, param.decay_mult))
            layouts.append(f"{key} {param.shape} {array.layout.name}")
            end += aligned(size * dtype.itemsize) // dtype.itemsize
        self.totals[name] = end
        return ServerTable(
            name,
            end,
            str(dtype),
            tuple(segments),
            layout="; ".join(layouts),
            slack=slack,
        )

    # -- record ----------------------------------------------------------------

    def record(self, bodies: int) -> None:
        """Play one iteration of `bodies` batches to the client, without data."""
        self.client.begin_virtual_iteration("train")
        opened: dict[tuple[str, str], int] = {}
        for body in range(bodies):
            handles = [
                self._virtual(entry, opened, body == 0, body == bodies - 1)
                for entry in self._program.instructions
                if isinstance(entry, Table | Clock)
            ]
            self._handles.append(handles)
        self.client.finish_virtual_iteration()

    def _virtual(
        self,
        entry: Table | Clock,
        opened: dict[tuple[str, str], int],
        first: bool,
        last: bool,
    ) -> int | None:
        client = self.client
        if isinstance(entry, Clock):
            return client.virtual_clock() if last else None
        name = entry.table
        match entry.call:
            case "read":
                opened["read", name] = client.virtual_read(name)
                return opened["read", name]
            case "post_read":
                return client.virtual_post_read(opened.pop(("read", name)))
            case "pre_update" if first:
                opened["update", name] = client.virtual_pre_update(name)
                return opened["update", name]
            case "update" if last:
                return client.virtual_update(opened.pop(("update", name)))
        return None

    # -- run -------------------------------------------------------------------

    def call(self, ordinal: int, instruction: Instruction) -> Call:
        """The call of the `ordinal`-th access of an iteration's batch."""
        if isinstance(instruction, Clock):
            return self._clock
        assert isinstance(instruction, Table)
        call = self._client_call(instruction)
        if len(self._handles) == 1:
            handle = self._handles[0][ordinal]
            return lambda: call(handle)

        def of_this_body() -> None:
            handle = self._handles[self.body][ordinal]
            if handle is not None:
                call(handle)

        return of_this_body

    def _client_call(self, instruction: Table) -> Callable[[int | None], object]:
        call: Callable[[int | None], object] = getattr(self.client, instruction.call)
        finish, name = self.finish, instruction.table
        if finish is None or instruction.call != "update":
            return call

        def finished(handle: int | None) -> None:
            finish(name)
            call(handle)

        return finished

    def _clock(self) -> None:
        if self._last_body:
            self.client.clock()

    @property
    def _last_body(self) -> bool:
        return self.body == len(self._handles) - 1

    def bind_hand_over(self, gradient: Array, copy: Call) -> Call:
        """What brings a finished gradient from the device to its table's memory.

        Args:
            gradient: on the device; of the last batch, it is that of all.
            copy: takes it there.

        Where GPUs add gradients up, only the first worker's table gets the sum.
        """
        if self._gpus is None:
            return copy
        add, first = self._gpus.bind_sum(gradient), self._gpus.first

        def hand_over() -> None:
            if self._last_body:
                add()
            if first or not self._last_body:
                copy()

        return hand_over

    def bind_part(self, key: str, start: int, update: Array) -> Call:
        """The call that updates a param's elements from `start` on; see Client."""
        table = self._program.tables[key]
        return self.client.bind_part(table, self.offsets[key] + start, update)

    # -- memory ----------------------------------------------------------------

    def lend(self, memory: ParamMemory) -> None:
        """Put weights and gradients of the tables behind the params' arrays."""
        for table, keys in self.keys.items():
            weights = self.client.memory(table)
            gradient = self.client.update_memory(table)
            for key in keys:
                memory.lend(key, self._block(weights, key))
                memory.lend(f"{key}.diff", self._block(gradient, key))

    def _block(self, table: Array, key: str) -> Array:
        start = self.offsets[key]
        return table[start : start + self.sizes[key]].view(np.uint8)
