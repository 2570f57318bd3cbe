"""The forward half of a program: which arrays each layer reads and writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from geeps_caffe.config.exact import MOST_PARAMS, NAME, count_parts
from geeps_caffe.device.array import Shape, count
from geeps_caffe.engines.engine import (
    Description,
    Engine,
    Layout,
    Request,
    plain_layout,
)
from geeps_caffe.engines.operations import InnerProduct
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.base import SavedSpec, saved_of_operation
from geeps_caffe.layers.merged import Merged
from geeps_caffe.schedule.instructions import Compute, Load, Reorder, Table
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.requests import backward_request, code_reads, of_whole_batch


@dataclass
class Forward:
    """What the forward half found out and the backward half needs."""

    graph: Graph
    engine: Engine
    program: Program
    tables: Mapping[str, str]  # param key -> table
    layouts: dict[str, Layout]  # param key -> layout, completed on the way
    saved: dict[int, list[str]] = field(default_factory=dict)
    described: dict[int, Description] = field(default_factory=dict)
    #: Storages that some backward pass will read.
    needed: set[str] = field(default_factory=set)
    #: Storages seen under several names by Splits: never to be overwritten.
    split: set[str] = field(default_factory=set)

    @cached_property
    def dynamic(self) -> frozenset[str]:
        """Values whose shape is known only at run time; theirs is an upper bound."""
        return self.graph.dynamic

    @cached_property
    def parts(self) -> bool:
        """Whether sums over records or inputs are made in parts; see `parts.py`."""
        options, params = self.program.options, self.graph.params.values()
        if not options.backward or NAME in options.without or not self.engine.lanes:
            return False
        return sum(count(p.shape) for p in params if not p.state) <= MOST_PARAMS

    def shape(self, value: str) -> Shape:
        """The shape of a value."""
        return self.graph.values[value].shape

    def run(self) -> None:
        """Emit the forward pass of every node."""
        for node in self.graph.nodes:
            self.program.node = node.index
            if node.layer.is_source:
                self._source(node)
            elif node.layer.shares:
                self._view(node)
            else:
                self._compute(node)

    # -- nodes without arithmetic ----------------------------------------------

    def _source(self, node: Node) -> None:
        for value in node.tops:
            name = self.program.add(value, self.shape(value))
            self.program.data[value] = name
            if node.type == "Input":
                self.program.persistent.add(name)
        if node.type != "Input":
            tops = tuple(self.program.data[value] for value in node.tops)
            self.program.emit(Load(node.index, node.name, tops))

    def _view(self, node: Node) -> None:
        """Tops that are the bottom's own memory: Split, Flatten, Reshape."""
        bottom = self.program.data[node.bottoms[0]]
        if node.type != "Split":
            bottom = self.program.plain(bottom)
        source = self.program.arrays[bottom]
        for value in node.tops:
            self.program.data[value] = self.program.add(
                value, self.shape(value), source.layout, view_of=bottom
            )
        if node.type == "Split":
            self.split.add(source.storage)

    # -- nodes with arithmetic -------------------------------------------------

    def _compute(self, node: Node) -> None:
        tables = self.open_tables(node)
        request = self.request(node)
        description = self.engine.describe(request) if request else None
        if request and description:
            self._operation(node, request, description)
        else:
            self._layer_code(node)
        self.close_tables(tables)

    def is_dynamic(self, node: Node) -> bool:
        """Whether a node's shapes are known only when it runs."""
        return not self.dynamic.isdisjoint((*node.bottoms, *node.tops))

    def request(self, node: Node) -> Request | None:
        """The forward pass as engines are asked for it; None for layer code."""
        operation = node.layer.operation()
        if operation is None or self.is_dynamic(node):
            return None
        shapes: dict[str, Shape] = {}
        given: dict[str, Layout] = {}
        for i, value in enumerate(node.bottoms):
            shapes[f"bottom{i}"] = self.shape(value)
            given[f"bottom{i}"] = self._layout(self.program.data[value])
        for i, key in enumerate(node.params):
            shape = node.param_shapes[i]
            shapes[f"param{i}"] = shape
            if shape != self.graph.params[key].shape:
                given[f"param{i}"] = plain_layout(shape, self.program.options.dtype)
            elif key in self.layouts:
                given[f"param{i}"] = self.layouts[key]
        for i, value in enumerate(node.tops):
            shapes[f"top{i}"] = self.shape(value)
        options, parts = self.program.options, 0
        if isinstance(operation, InnerProduct) and operation.axis == 1 and self.parts:
            parts = count_parts(shapes["bottom0"][0])
        return Request(
            operation, "forward", shapes, given, options.dtype, options.backward, parts
        )

    def _operation(
        self, node: Node, request: Request, description: Description
    ) -> None:
        program, layouts = self.program, description.layouts
        self.described[node.index] = description
        ports: list[tuple[str, str]] = []
        for i, value in enumerate(node.bottoms):
            port = f"bottom{i}"
            ports.append((port, program.in_layout(program.data[value], layouts[port])))
        for i, key in enumerate(node.params):
            port = f"param{i}"
            self._param(key, layouts[port])
            array = self.param_as(node, i)
            ports.append((port, program.in_layout(array, layouts[port])))
        reads = self._backward_reads(node, request, description)
        bottoms = {port: array for port, array in ports if port.startswith("bottom")}
        for i, value in enumerate(node.tops):
            port = f"top{i}"
            ports.append((port, self._top(node, i, value, layouts[port], reads)))
        self._note_needed(node, reads, bottoms)
        saved = []
        for i, kept in enumerate(description.saved):
            name = f"{node.name}.saved{i}"
            shape = kept.shape or (kept.nbytes,)
            layout = Layout("plain", kept.nbytes)
            saved.append(program.add(name, shape, layout, dtype=kept.dtype))
            ports.append((f"saved{i}", name))
        self.saved[node.index] = saved
        program.emit(
            Compute(
                "forward",
                node.index,
                node.name,
                tuple(ports),
                request,
                description,
                updates=self._state_arrays(node, ports),
                scratch=self.scratch(node.name, description.scratch),
            )
        )
        self._put_back(node, ports)

    def _layer_code(self, node: Node) -> None:
        """Array-module code on plain arrays."""
        assert not isinstance(node.layer, Merged), "it has no code"
        program = self.program
        ports: list[tuple[str, str]] = []
        for i, value in enumerate(node.bottoms):
            ports.append((f"bottom{i}", program.plain(program.data[value])))
        for i, key in enumerate(node.params):
            plain = plain_layout(self.graph.params[key].shape, program.options.dtype)
            self._param(key, plain)
            ports.append((f"param{i}", program.plain(self.param_as(node, i))))
        reads = code_reads(node)
        bottoms = {port: array for port, array in ports if port.startswith("bottom")}
        for i, value in enumerate(node.tops):
            layout = plain_layout(self.shape(value), program.options.dtype)
            ports.append((f"top{i}", self._top(node, i, value, layout, reads)))
        self._note_needed(node, reads, bottoms)
        self.saved[node.index] = self._code_saved(node)
        ports += [(f"saved{i}", name) for i, name in enumerate(self.saved[node.index])]
        program.emit(
            Compute(
                "forward",
                node.index,
                node.name,
                tuple(ports),
                updates=self._state_arrays(node, ports),
            )
        )
        self._put_back(node, ports)

    def _code_saved(self, node: Node) -> list[str]:
        return [
            self.program.add(f"{node.name}.saved{i}", spec.shape, dtype=spec.dtype)
            for i, spec in enumerate(self._saved_specs(node))
        ]

    def _saved_specs(self, node: Node) -> list[SavedSpec]:
        bottom = [self.shape(value) for value in node.bottoms]
        operation = node.layer.operation()
        if operation is None:
            return list(node.layer.saved_specs(bottom))
        shapes = {f"bottom{i}": s for i, s in enumerate(bottom)}
        shapes |= {f"top{i}": self.shape(v) for i, v in enumerate(node.tops)}
        return saved_of_operation(
            operation, shapes, np.dtype(self.program.options.dtype)
        )

    # -- arrays ----------------------------------------------------------------

    def _top(
        self, node: Node, index: int, value: str, layout: Layout, reads: set[str]
    ) -> str:
        """A new array for a top, or the bottom's own when that is safe in place."""
        storage = None
        if index == 0 and node.in_place and node.layer.in_place:
            bottom = self.program.arrays[self.program.data[node.bottoms[0]]]
            same = bottom.layout.name == layout.name
            free = bottom.storage not in self.needed | self.split
            if same and free and "bottom0" not in reads:
                storage = bottom.storage
        name = self.program.add(value, self.shape(value), layout, storage=storage)
        self.program.data[value] = name
        return name

    def _param(self, key: str, wanted: Layout) -> str:
        """The array of a param; the first layout that is asked for is the table's."""
        if key not in self.program.params:
            layout = self.layouts.setdefault(key, wanted)
            param = self.graph.params[key]
            home = "table" if key in self.tables else "state"
            add = self.program.add if param.state else self.program.add_leased
            self.program.params[key] = add(key, param.shape, layout, home=home)
        return self.program.params[key]

    def param_as(self, node: Node, index: int) -> str:
        """A param of a node in the shape that this node gives it."""
        array = self.program.params[node.params[index]]
        return self.program.reshaped(array, node.param_shapes[index])

    def _layout(self, array: str) -> Layout:
        return self.program.arrays[array].layout

    def _state_arrays(
        self, node: Node, ports: Sequence[tuple[str, str]]
    ) -> tuple[str, ...]:
        """The arrays at the ports of statistics, which forward updates."""
        arrays = dict(ports)
        return tuple(
            arrays[f"param{i}"]
            for i, key in enumerate(node.params)
            if self.graph.params[key].state
        )

    def _put_back(self, node: Node, ports: Sequence[tuple[str, str]]) -> None:
        """Bring statistics that were updated in another layout back into theirs."""
        arrays = dict(ports)
        for i, key in enumerate(node.params):
            used, own = arrays[f"param{i}"], self.program.params[key]
            if self.graph.params[key].state and used != own:
                self.program.emit(Reorder(used, own))

    def scratch(self, name: str, nbytes: int) -> str | None:
        """A block that is free again after the instruction."""
        if not nbytes:
            return None
        unique = f"{name}.scratch{len(self.program.instructions)}"
        return self.program.add(unique, (nbytes,), dtype="uint8")

    # -- what backward will read -----------------------------------------------

    def _backward_reads(
        self, node: Node, request: Request, description: Description
    ) -> set[str]:
        if not (self.program.options.backward and node.needs_backward):
            return set()
        layouts = dict(description.layouts)
        back = self.engine.describe(
            of_whole_batch(backward_request(node, self.shape, request, layouts))
        )
        if back is None:
            return code_reads(node)
        return {port for port in back.layouts if not port.endswith(".diff")}

    def _note_needed(
        self, node: Node, reads: set[str], bottoms: Mapping[str, str]
    ) -> None:
        if not node.needs_backward:
            return
        for i, value in enumerate(node.bottoms):
            if f"bottom{i}" in reads:
                source = self.program.arrays[self.program.data[value]].storage
                self.needed |= {
                    source,
                    self.program.arrays[bottoms[f"bottom{i}"]].storage,
                }
        for i, value in enumerate(node.tops):
            if f"top{i}" in reads:
                self.needed.add(self.program.arrays[self.program.data[value]].storage)

    # -- tables ----------------------------------------------------------------

    def open_tables(self, node: Node) -> list[str]:
        """Read every table that the node uses; returns their names."""
        names = list(
            dict.fromkeys(self.tables[k] for k in node.params if k in self.tables)
        )
        for name in names:
            self.program.emit(Table("read", name))
        return names

    def close_tables(self, names: list[str]) -> None:
        """Give back the leases."""
        for name in names:
            self.program.emit(Table("post_read", name))
