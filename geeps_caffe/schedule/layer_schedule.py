"""GeePS-Caffe's schedule of an iteration, layer by layer, as a recording.

Our own plans come from a program, which knows what each instruction reads.
GeePS-Caffe had fixed rules instead, and its planner worked on what they ask for. To
compare with the paper, this makes the same recording: each blob is two local arrays
(data and diff), a learned layer's blobs are rows of a table, and its momentum is a
local array as well.

A blob stays open when the next layer uses it too. What the net puts out is left to
Caffe's own memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from geeps_caffe.device.array import count
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.schedule.recording import Access

ROW_VALUES = 128  # floats of a row
ROW_BYTES = 4 * ROW_VALUES
COMPUTE = "compute"  # a mark between opening and closing: a layer's pass
_READS_TOP = frozenset(
    {"ReLU", "LRN", "Pooling", "Dropout", "Eltwise", "SoftmaxWithLoss"}
)
_LOSSES = frozenset({"SoftmaxWithLoss"})  # their forward pass writes a diff
_SOURCES = frozenset({"Data", "DummyData", "ImageData", "Input", "HDF5Data"})
#: Types that have an extra output of their top's size for what backward needs.
_EXTRA = frozenset({"LRN"})


@dataclass(frozen=True)
class _Use:
    """One local array in one pass."""

    array: str
    fetch: bool
    keep: bool


@dataclass(frozen=True)
class _Pass:
    """A layer's forward or backward pass and the local arrays that it uses."""

    node: Node
    direction: str
    uses: tuple[_Use, ...]

    @property
    def name(self) -> str:
        """As costs know it."""
        return f"{self.direction} {self.node.name}"


def record_layers(graph: Graph, bodies: int = 1) -> tuple[Access, ...]:
    """The accesses of one clock.

    Args:
        graph: a training net.
        bodies: batches of one clock (GeePS's batches_per_clock).
    """
    return tuple(_Layers(graph).accesses(bodies))


@dataclass
class _Layers:
    graph: Graph
    _open: dict[str, bool] = field(default_factory=dict)  # array -> keep

    def accesses(self, bodies: int) -> Iterator[Access]:
        """All of them, in order."""
        passes = self._passes() * bodies
        for i, entry in enumerate(passes):
            following = passes[i + 1] if i + 1 < len(passes) else None
            yield from self._run(entry, following)
        yield Access("clock")

    def _passes(self) -> list[_Pass]:
        nodes = [n for n in self.graph.nodes if n.type != "Split"]
        back = [n for n in reversed(nodes) if n.needs_backward and n.bottoms]
        return [
            *(_Pass(n, "forward", self._merged(self._forward(n))) for n in nodes),
            *(_Pass(n, "backward", self._merged(self._backward(n))) for n in back),
        ]

    def _merged(self, uses: Iterator[_Use]) -> tuple[_Use, ...]:
        """One use an array; in place, the top's flags replace the bottom's."""
        managed = (u for u in uses if u.array in self._sizes)
        return tuple({use.array: use for use in managed}.values())

    # -- which arrays ----------------------------------------------------------

    def _forward(self, node: Node) -> Iterator[_Use]:
        for blob in self._blobs(node.bottoms):
            yield _Use(blob, True, True)
        for blob in self._tops(node):
            yield _Use(blob, False, True)
        if node.type in _LOSSES:
            for blob in self._blobs(node.tops):
                yield _Use(f"{blob}.diff", False, True)

    def _backward(self, node: Node) -> Iterator[_Use]:
        for blob in self._blobs(node.bottoms):
            yield _Use(blob, True, False)
        for blob, wanted in zip(self._blobs(node.bottoms), node.propagate, strict=True):
            if wanted:
                yield _Use(f"{blob}.diff", False, True)
        if node.type in _READS_TOP:
            for blob in self._tops(node):
                yield _Use(blob, True, False)
        for blob in self._blobs(node.tops):
            yield _Use(f"{blob}.diff", True, False)

    def _blobs(self, values: Sequence[str]) -> list[str]:
        """The blobs behind values, those of Splits being what they split."""
        return [self._unsplit(value) for value in values]

    def _unsplit(self, value: str) -> str:
        node = self.graph.nodes[self.graph.values[value].source]
        if node.type == "Split":
            return self._unsplit(node.bottoms[0])
        return self.graph.values[value].blob

    def _tops(self, node: Node) -> list[str]:
        extra = [f"{node.name}.extra"] if node.type in _EXTRA else []
        return self._blobs(node.tops) + extra

    @property
    def _sizes(self) -> Mapping[str, int]:
        """Bytes of every local array, in whole rows; the net's outputs have none."""
        found: dict[str, int] = {}
        for node in self.graph.nodes:
            for value in node.tops:
                blob, size = self._unsplit(value), count(self.graph.values[value].shape)
                if self.graph.values[value].blob in self.graph.outputs:
                    continue
                found[blob] = whole_rows(size)
                found[f"{blob}.diff"] = found[blob]
            if node.type in _EXTRA:
                size = count(self.graph.values[node.tops[0]].shape)
                found[f"{node.name}.extra"] = whole_rows(size)
        return found

    # -- one pass --------------------------------------------------------------

    def _run(self, entry: _Pass, following: _Pass | None) -> Iterator[Access]:
        nbytes = self._table_bytes(entry.node)
        table, back = entry.node.name, entry.direction == "backward"
        if nbytes and back:
            yield Access("pre_update", table, nbytes)
        if nbytes:
            yield Access("read", table, nbytes)
        if nbytes and back:
            yield Access("local_access", f"{table}.history", nbytes, fetch=True)
        yield from self._begin(entry)
        yield Access(COMPUTE, entry.name)
        yield from self._end(entry, following)
        if nbytes and back:
            yield Access("update", table, nbytes)
        if nbytes:
            yield Access("post_read", table, nbytes)
        if nbytes and back:
            yield Access("post_local_access", f"{table}.history", nbytes, keep=True)

    def _begin(self, entry: _Pass) -> Iterator[Access]:
        for use in entry.uses:
            if use.array not in self._open:
                size = self._sizes[use.array]
                yield Access("local_access", use.array, size, fetch=use.fetch)
            self._open[use.array] = use.keep

    def _end(self, entry: _Pass, following: _Pass | None) -> Iterator[Access]:
        used = {use.array for use in following.uses} if following else set()
        for name in [n for n in self._open if n not in used]:
            keep = self._open.pop(name)
            yield Access("post_local_access", name, self._sizes[name], keep=keep)

    def _table_bytes(self, node: Node) -> int:
        """Bytes of a learned layer's rows."""
        if not any(node.learns):
            return 0
        shapes = (self.graph.params[key].shape for key in node.params)
        return whole_rows(sum(count(shape) for shape in shapes))


def whole_rows(values: int) -> int:
    """Bytes of so many floats in whole rows.

    >>> whole_rows(1), whole_rows(129)
    (512, 1024)
    """
    return -(-values // ROW_VALUES) * ROW_BYTES


def input_bytes(graph: Graph, accesses: Sequence[Access]) -> int:
    """Bytes of the local arrays that source layers fill."""
    sources = {
        graph.values[value].blob
        for node in graph.nodes
        if not node.bottoms or node.type in _SOURCES
        for value in node.tops
    }
    sizes = {a.name: a.nbytes for a in accesses if a.call == "local_access"}
    return sum(size for name, size in sizes.items() if name in sources)
