"""The backward half of a program: gradients, their sums, and the table updates."""

from dataclasses import dataclass, field

from geeps_caffe.engines.engine import Description, Layout, Request, plain_layout
from geeps_caffe.engines.operations import Sum
from geeps_caffe.graph.graph import Node
from geeps_caffe.schedule.forward import Forward
from geeps_caffe.schedule.gradients import Collected, Gradients
from geeps_caffe.schedule.instructions import Compute, Fill
from geeps_caffe.schedule.learned import Learned
from geeps_caffe.schedule.parts import (
    Parted,
    emit_parts,
    part_batch,
    sums_of_parts,
    without_params,
)
from geeps_caffe.schedule.requests import (
    backward_request,
    code_reads,
    of_whole_batch,
)


@dataclass
class Backward:
    """Emits the backward pass of every node that needs it, last layer first."""

    forward: Forward
    learned: Learned = field(init=False)
    gradients: Gradients = field(init=False)

    def __post_init__(self) -> None:
        self.learned = Learned(self.forward)
        self.gradients = Gradients(self.forward, self.learned)

    def run(self) -> None:
        """Emit all of it."""
        program = self.forward.program
        program.backward_start = len(program.instructions)
        nodes = [n for n in reversed(self.forward.graph.nodes) if n.needs_backward]
        for node in nodes:
            self.learned.note(node)
        self.learned.note_idle()
        for node in nodes:
            program.node = node.index
            if node.layer.is_source:
                continue
            if node.layer.shares:
                self._view(node)
            else:
                self._compute(node)
        self.learned.finish_idle()

    # -- gradients of tops -----------------------------------------------------

    def _top_diff(self, node: Node, index: int) -> str:
        """The array of a top's gradient; the loss weight where no reader wrote one."""
        program, value = self.forward.program, node.tops[index]
        if value not in program.diff:
            name = program.add(f"{value}.diff", self.forward.shape(value))
            program.diff[value] = name
            when = "once" if program.options.keep_all else "step"
            program.emit(Fill(name, node.loss_weights[index], when))
            if when == "once":
                program.persistent.add(name)
        return program.diff[value]

    # -- nodes -----------------------------------------------------------------

    def _view(self, node: Node) -> None:
        if not node.propagate[0]:
            return
        program, bottom = self.forward.program, node.bottoms[0]
        if node.type == "Split":
            self._sum(node)
            return
        source = program.arrays[program.plain(self._top_diff(node, 0))]
        program.diff[bottom] = program.add(
            f"{bottom}.diff",
            self.forward.shape(bottom),
            plain_layout(source.shape, source.dtype),
            view_of=source.name,
        )

    def _sum(self, node: Node) -> None:
        """A Split's gradient: the sum of those that its readers wrote."""
        program, bottom = self.forward.program, node.bottoms[0]
        parts = [
            self._top_diff(node, i)
            for i, value in enumerate(node.tops)
            if value in program.diff or node.loss_weights[i] or self._is_output(value)
        ]
        if not parts:
            parts = [self._top_diff(node, 0)]
        if len(parts) == 1:
            source = program.arrays[parts[0]]
            program.diff[bottom] = program.add(
                f"{bottom}.diff", source.shape, source.layout, view_of=source.name
            )
            return
        shape = self.forward.shape(bottom)
        request = Request(
            Sum((1.0,) * len(parts)),
            "forward",
            {f"bottom{i}": shape for i in range(len(parts))} | {"top0": shape},
            {f"bottom{i}": program.arrays[p].layout for i, p in enumerate(parts)},
            program.options.dtype,
            False,
        )
        fixed = bottom not in self.forward.dynamic
        description = self.forward.engine.describe(request) if fixed else None
        plain = plain_layout(shape, program.options.dtype)
        layouts = description.layouts if description else {}
        ports = [
            (f"bottom{i}", program.in_layout(part, layouts.get(f"bottom{i}", plain)))
            for i, part in enumerate(parts)
        ]
        name = program.add(f"{bottom}.diff", shape, layouts.get("top0", plain))
        program.diff[bottom] = name
        scratch = description.scratch if description else 0
        program.emit(
            Compute(
                "forward",
                node.index,
                f"{node.name}.diff",
                (*ports, ("top0", name)),
                request,
                description,
                scratch=self.forward.scratch(node.name, scratch),
            )
        )

    def _is_output(self, value: str) -> bool:
        """Whether a program that drives the net by hand may write its gradient."""
        graph, keep_all = self.forward.graph, self.forward.program.options.keep_all
        return keep_all and graph.values[value].blob in graph.outputs

    def _compute(self, node: Node) -> None:
        self.learned.open(node)
        read = self.forward.open_tables(node)
        diffs = [self._top_diff(node, i) for i in range(len(node.tops))]
        if self._hands_on(node):
            self._hand_on(node, diffs[0])
            return
        wanted = any(node.propagate) or any(node.learns)
        if wanted and not self._operation(node, diffs):
            self._layer_code(node, diffs)
        self.forward.close_tables(read)
        self.learned.finish(node)

    def _hands_on(self, node: Node) -> bool:
        """Whether the gradient of each bottom is that of the top: plain sums.

        A program that drives the net by hand may write into each of them.
        """
        operation = node.layer.operation()
        plain = isinstance(operation, Sum) and set(operation.coefficients) == {1.0}
        return plain and not self.forward.program.options.keep_all

    def _hand_on(self, node: Node, diff: str) -> None:
        """No bottom's gradient is an array of its own; nobody writes into one."""
        program = self.forward.program
        source = program.arrays[diff]
        for value, wanted in zip(node.bottoms, node.propagate, strict=True):
            if wanted:
                program.diff[value] = program.add(
                    f"{value}.diff", source.shape, source.layout, view_of=diff
                )

    def _operation(self, node: Node, diffs: list[str]) -> bool:
        forward, program = self.forward, self.forward.program
        described = forward.described.get(node.index)
        request = forward.request(node)
        if described is None or request is None:
            return False
        given: dict[str, Layout] = {}
        for i, value in enumerate(node.bottoms):
            given[f"bottom{i}"] = program.arrays[program.data[value]].layout
        for i, value in enumerate(node.tops):
            given[f"top{i}"] = program.arrays[program.data[value]].layout
        for i in range(len(node.params)):
            given[f"param{i}"] = program.arrays[forward.param_as(node, i)].layout
        for i, name in enumerate(diffs):
            given[f"top{i}.diff"] = program.arrays[name].layout
        request = backward_request(node, forward.shape, request, given)
        parted = None
        if forward.parts:
            parted = part_batch(forward.engine, forward.graph, node, request)
        if parted is None:
            rest: Request | None = of_whole_batch(request)
        else:
            self._in_parts(node, request, parted, diffs)
            rest = without_params(request)
        if rest is not None:
            description = forward.engine.describe(rest)
            assert description is not None, f"{node.title}: forward only"
            self._pass(node, rest, description, diffs)
        return True

    def _in_parts(
        self, node: Node, request: Request, parted: Parted, diffs: list[str]
    ) -> None:
        """The params' gradients, added up by the engine where it can do that.

        Over several batches each part adds up by itself, so all of them are kept.
        """
        whole = sums_of_parts(request, parted.parts)
        found = None
        if not self.forward.program.options.accumulate:
            found = self.forward.engine.describe(whole)
        if found is None:
            emit_parts(self.gradients, node, parted, diffs)
        else:
            self._pass(node, whole, found, diffs)

    def _pass(
        self, node: Node, request: Request, description: Description, diffs: list[str]
    ) -> None:
        """Emit one backward pass of a layer's operation."""
        forward, program = self.forward, self.forward.program
        ports = []
        for port, layout in description.layouts.items():
            array = self.gradients.existing(node, port, diffs)
            if array is not None:
                ports.append((port, program.in_layout(array, layout)))
        ports += [(f"saved{i}", s) for i, s in enumerate(forward.saved[node.index])]
        after: list[Collected] = []
        for port in request.shapes:
            if port.endswith(".diff") and not port.startswith("top"):
                layout = description.layouts[port]
                ports.append((port, self.gradients.written(node, port, layout, after)))
        program.emit(
            Compute(
                "backward",
                node.index,
                node.name,
                tuple(ports),
                request,
                description,
                scratch=forward.scratch(node.name, description.scratch),
            )
        )
        self.gradients.collect(after)

    def _layer_code(self, node: Node, diffs: list[str]) -> None:
        program = self.forward.program
        ports: list[tuple[str, str]] = []
        reads = code_reads(node)
        for i, value in enumerate(node.bottoms):
            if f"bottom{i}" in reads:
                ports.append((f"bottom{i}", program.plain(program.data[value])))
        for i, value in enumerate(node.tops):
            if f"top{i}" in reads:
                ports.append((f"top{i}", program.plain(program.data[value])))
        for i in range(len(node.params)):
            array = self.forward.param_as(node, i)
            ports.append((f"param{i}", program.plain(array)))
        saved = self.forward.saved[node.index]
        ports += [(f"saved{i}", name) for i, name in enumerate(saved)]
        ports += [(f"top{i}.diff", program.plain(d)) for i, d in enumerate(diffs)]
        after: list[Collected] = []
        for i, wanted in enumerate(node.propagate):
            if wanted:
                shape = self.forward.shape(node.bottoms[i])
                layout = plain_layout(shape, program.options.dtype)
                port = f"bottom{i}.diff"
                ports.append((port, self.gradients.written(node, port, layout, after)))
        for i, wanted in enumerate(node.learns):
            if wanted:
                layout = plain_layout(node.param_shapes[i], program.options.dtype)
                port = f"param{i}.diff"
                ports.append((port, self.gradients.written(node, port, layout, after)))
        program.emit(Compute("backward", node.index, node.name, tuple(ports)))
        self.gradients.collect(after)
