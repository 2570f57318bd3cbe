"""Small nets' gradients as sums that are the same bits for any number of workers.

A gradient in single precision depends on the order in which records are added, and a
max pooling or ReLU may turn the last bit of a weight into a visible difference. So the
batch is parted: part g of n has the records g, g + n, g + 2n, ... Each part's gradient
is made by itself, on one thread, and the parts are added up by halves, even ones and
odd ones apart (`device.tree`). Record i of a batch goes to worker i mod N; so
where N is a power of 2, a worker's parts are parts of one process's batch, its own sum
is a node of that tree, and the shards' sum in the same order is its root.

An inner product's forward pass and its bottom's gradient add up inputs, not records;
`Request.parts` asks engines to do that in one way for any batch (`Forward.request`).
"""

from collections import Counter
from dataclasses import dataclass, replace

from geeps_caffe.config.exact import count_parts
from geeps_caffe.device.array import Shape, aligned
from geeps_caffe.engines.engine import Description, Engine, Layout, Request
from geeps_caffe.engines.operations import Convolution, Deconvolution, InnerProduct
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.schedule.gradients import Collected, Gradients
from geeps_caffe.schedule.instructions import AddParts, Fill, ParamParts
from geeps_caffe.schedule.work import flops

WORTH = 1 << 22  # operations that are worth it to wake another thread

_PARAMS = ("param0.diff", "param1.diff")
_INPUTS = ("bottom0", "top0.diff")


@dataclass(frozen=True)
class Parted:
    """How a layer's gradients of its params are made."""

    parts: int
    request: Request  # of one part
    description: Description

    @property
    def gradients(self) -> list[str]:
        """The ports of the params' gradients."""
        return [port for port in _PARAMS if port in self.request.shapes]

    @property
    def work(self) -> int:
        """Multiplications and additions of all parts."""
        return self.parts * flops(self.request)

    def elements(self, port: str, itemsize: int) -> int:
        """Of one part's gradient, padding included."""
        return self.description.layouts[port].nbytes // itemsize

    def whole(self, port: str) -> Layout:
        """How an array that a part is taken from must lie."""
        layout = self.description.layouts[port]
        return Layout(layout.name, layout.nbytes * self.parts)

    def lane_bytes(self, adds: bool) -> int:
        """Of each lane's scratch."""
        return sum(size for _, size in self.scratch_blocks(adds))

    def scratch_blocks(self, adds: bool) -> list[tuple[str, int]]:
        """Name and bytes of what a lane needs: ports, and the engine's own."""
        ports = list(_INPUTS) if self.parts > 1 else []
        ports += self.gradients if adds else []
        layouts = self.description.layouts
        blocks = [(port, aligned(layouts[port].nbytes)) for port in ports]
        return [*blocks, ("scratch", aligned(self.description.scratch))]


def part_batch(
    engine: Engine, graph: Graph, node: Node, request: Request
) -> Parted | None:
    """How to part the backward pass of a layer of a small net; None: one sum."""
    kinds = Convolution | Deconvolution | InnerProduct
    operation, shapes = request.operation, request.shapes
    if not isinstance(operation, kinds) or shapes.keys().isdisjoint(_PARAMS):
        return None
    if not _has_records(operation, shapes["bottom0"]):
        return None
    if any(uses > 1 for key, uses in _uses(graph).items() if key in node.params):
        return None
    parts = count_parts(shapes["bottom0"][0])
    if not parts:
        return None
    return _described(engine, request, parts)


def _has_records(
    operation: Convolution | Deconvolution | InnerProduct, bottom: Shape
) -> bool:
    """Whether axis 0 is that of records, and not summed up or one of channels."""
    if isinstance(operation, InnerProduct):
        return operation.axis == 1
    return len(bottom) >= 2 + len(operation.kernel)


def _varies(node: Node) -> bool:
    """Whether a layer gives batches of several shapes."""
    layer = node.layer
    if isinstance(layer, SourceLayer):
        return layer.varies
    return layer.dynamic and not node.bottoms


def _uses(graph: Graph) -> Counter[str]:
    return Counter(key for node in graph.nodes for key in node.params)


def _described(engine: Engine, request: Request, parts: int) -> Parted | None:
    shapes, given = dict(request.shapes), dict(request.given)
    shapes.pop("bottom0.diff", None)
    for port in ("bottom0", "top0", "top0.diff"):
        shape = shapes[port]
        layout = _of_part(engine, shape, given[port], parts)
        if layout is None:
            return None
        shapes[port], given[port] = (shape[0] // parts, *shape[1:]), layout
    assert engine.lanes is not None
    own = replace(request, shapes=shapes, given=given, parts=0)
    found = engine.lanes.describe(own)
    if found is None:
        return None
    made = Parted(parts, own, found)
    for port in _INPUTS:
        whole, layout = made.whole(port), found.layouts[port]
        if _of_part(engine, request.shapes[port], whole, parts) != layout:
            return None
    return made


def _of_part(engine: Engine, shape: Shape, layout: Layout, parts: int) -> Layout | None:
    """How a part of an array lies; None where records don't lie one by one."""
    if engine.rows_layout(shape, layout, 1) is None:
        return None
    return engine.rows_layout(shape, layout, shape[0] // parts)


def without_params(request: Request) -> Request | None:
    """What is left for the pass over the whole batch."""
    if "bottom0.diff" not in request.shapes:
        return None
    shapes = {port: s for port, s in request.shapes.items() if port not in _PARAMS}
    return replace(request, shapes=shapes)


def sums_of_parts(request: Request, parts: int) -> Request:
    """The params' gradients alone, added up by the engine: it may be able to."""
    shapes = {port: s for port, s in request.shapes.items() if port != "bottom0.diff"}
    return replace(request, shapes=shapes, parts=parts)


def emit_parts(
    gradients: Gradients, node: Node, parted: Parted, diffs: list[str]
) -> None:
    """Emit the params' gradients of all parts, and their sums."""
    program = gradients.forward.program
    options, itemsize = program.options, program.itemsize()
    ports: list[tuple[str, str]] = []
    for port, layout in parted.description.layouts.items():
        array = gradients.existing(node, port, diffs)
        if array is not None:
            lies = parted.whole(port) if port in _INPUTS else layout
            ports.append((port, program.in_layout(array, lies)))
    #: Over several batches each part adds up by itself: the tree comes last. But a
    #: batch of another shape has a plan and parts of its own.
    adds = options.accumulate and not options.keep_all and parted.parts > 1
    adds = adds and not any(_varies(n) for n in gradients.forward.graph.nodes)
    rows = {}
    for port in parted.gradients:
        shape = (parted.parts, parted.elements(port, itemsize))
        rows[port] = program.add(f"{node.name}.{port} parts", shape)
        ports.append((port, rows[port]))
        if adds:
            program.persistent.add(rows[port])
            program.emit(Fill(rows[port], 0.0, "first", lasts=True))
    lanes = gradients.forward.engine.lanes
    assert lanes is not None
    used = min(lanes.count, parted.parts) if parted.work >= WORTH else 1
    scratch = program.add(
        f"{node.name}.parts scratch",
        (max(used * parted.lane_bytes(adds), 1),),
        dtype="uint8",
    )
    program.emit(
        ParamParts(
            node.index,
            node.name,
            tuple(ports),
            parted.parts,
            parted.request,
            parted.description,
            adds,
            used,
            scratch,
        )
    )
    after: list[Collected] = []
    targets = {}
    for port in rows:
        layout = parted.description.layouts[port]
        targets[port] = gradients.written(node, port, layout, after, whole=adds)
    program.emit(AddParts(tuple(rows.values()), tuple(targets.values())))
    gradients.collect(after)
