"""What every engine must pass: each operation, in many shapes, against float64.

A Case is an operation and the shapes of its ports. `Trial` runs it on an engine as a
plan would: it describes the passes, puts arrays into the layouts asked for, and reads
the results back; outputs hold NaN before. The expected values are those of the
reference definition on float64 arrays.
"""

from dataclasses import dataclass, field

import numpy as np

from geeps_caffe.device.array import allocate
from geeps_caffe.engines.engine import Request, plain_layout
from geeps_caffe.engines.operations import BatchNorm, Convolution, ScaledBatchNorm
from geeps_caffe.engines.reference import DEFINITIONS

NORMS = (BatchNorm, ScaledBatchNorm)  # params 0 to 2 are statistics
#: float32 against float64, relative to the largest expected value.
TOLERANCE = 2e-5


@dataclass(frozen=True)
class Case:
    """An operation, the shapes of its ports, and what is special about its numbers."""

    name: str
    operation: object
    shapes: dict
    ties: bool = False  # bottoms are small whole numbers
    declined: frozenset = frozenset()  # engines that leave it to the reference


def random_arrays(case, rng):
    """float64 arrays for all ports that are read, tops' diffs included."""
    arrays = {}
    for port, shape in case.shapes.items():
        values = rng.standard_normal(shape)
        if case.ties and port.startswith("bottom"):
            values = rng.integers(-2, 3, shape).astype(float)
        arrays[f"{port}.diff" if port.startswith("top") else port] = values
    if isinstance(case.operation, NORMS):
        arrays["param1"] = np.abs(arrays["param1"]) + 0.5
        arrays["param2"] = np.array([1.75])
    return {name: np.float32(values).astype(float) for name, values in arrays.items()}


def gradients(case, which=None):
    """The ports of gradients that backward may be asked for; statistics have none."""
    statistics = [f"param{i}" for i in range(3)] * isinstance(case.operation, NORMS)
    found = [
        f"{port}.diff"
        for port in case.shapes
        if not port.startswith("top") and port not in statistics
    ]
    return found if which is None else [found[i] for i in which]


def expected(case, arrays, wanted):
    """Tops, gradients and params after forward, by the reference definition."""
    definition = DEFINITIONS[type(case.operation)]
    ports = {name: values.copy() for name, values in arrays.items()}
    for port, shape in case.shapes.items():
        if port.startswith("top"):
            ports[port] = np.full(shape, np.nan)
    for i, saved in enumerate(definition.saved(case.operation, case.shapes, 8)):
        ports[f"saved{i}"] = np.empty(saved.shape, saved.dtype)
    definition.forward(case.operation, np, ports)
    if not wanted:
        return ports
    for port in wanted:
        ports[port] = np.full(case.shapes[port.removesuffix(".diff")], np.nan)
    definition.backward(case.operation, np, ports)
    return ports


def favourite(engine, shape):
    """The layout in which a convolution on this engine would leave such an array."""
    if len(shape) != 4:
        return plain_layout(shape)
    one = Convolution((1, 1), (1, 1), (0, 0), (1, 1), 1, False)
    bottom = (shape[0], 64, *shape[2:])
    shapes = {"bottom0": bottom, "param0": (shape[1], 64, 1, 1), "top0": shape}
    return engine.describe(Request(one, "forward", shapes)).layouts["top0"]


@dataclass
class Trial:
    """One case on one engine; `home` is how bottoms and tops' diffs lie beforehand."""

    engine: object
    case: Case
    home: str = "plain"  # or "favourite"
    training: bool = True
    in_place: bool = False
    results: dict = field(default_factory=dict)
    blocks: dict = field(default_factory=dict)  # by port: memory and layout
    saved: dict = field(default_factory=dict)

    def lie(self, shape):
        if self.home == "favourite":
            return favourite(self.engine, shape)
        return plain_layout(shape)

    def forward_request(self):
        bottoms = {p: s for p, s in self.case.shapes.items() if p.startswith("bottom")}
        given = {port: self.lie(shape) for port, shape in bottoms.items()}
        return Request(
            self.case.operation,
            "forward",
            self.case.shapes,
            given,
            training=self.training,
        )

    def backward_request(self, wanted):
        tops = {f"{p}.diff": s for p, s in self.case.shapes.items() if p[:3] == "top"}
        diffs = {port: self.case.shapes[port.removesuffix(".diff")] for port in wanted}
        given = dict(self.forward_request().given)
        for port, (_, layout) in self.blocks.items():
            if port.startswith(("top", "param")):
                given[port] = layout
        given |= {port: self.lie(shape) for port, shape in tops.items()}
        shapes = {**self.case.shapes, **tops, **diffs}
        return Request(self.case.operation, "backward", shapes, given)

    def forward(self, arrays):
        """Run forward; False where the engine leaves it to the reference."""
        request = self.forward_request()
        description = self.engine.describe(request)
        if description is None:
            return False
        for i, saved in enumerate(description.saved):
            block = poisoned(saved.nbytes).view(saved.dtype).reshape(saved.shape)
            self.saved[f"saved{i}"] = block
        self._run(request, description, arrays)
        return True

    def backward(self, arrays, wanted):
        request = self.backward_request(wanted)
        description = self.engine.describe(request)
        assert description is not None, "forward ran, so backward must"
        for port in wanted:
            if port.startswith("param"):
                assert description.layouts[port] == self.blocks[port[:-5]][1]
        self._run(request, description, arrays)

    def _run(self, request, description, arrays):
        ports = dict(self.saved)
        for port, layout in description.layouts.items():
            if port not in self.saved:
                ports[port] = self._memory(request, port, layout, arrays)
        if self.in_place and request.direction == "forward":
            ports["top0"] = ports["bottom0"]
            assert description.layouts["top0"] == description.layouts["bottom0"]
            self.blocks["top0"] = (ports["top0"], description.layouts["top0"])
        if self.in_place and request.direction == "backward":
            ports["bottom0.diff"] = ports["top0.diff"]
            layout = description.layouts["bottom0.diff"]
            self.blocks["bottom0.diff"] = (ports["top0.diff"], layout)
        scratch = poisoned(description.scratch) if description.scratch else None
        call = self.engine.bind(request, description, ports, scratch)
        call()
        call() if self._repeatable(request) else None  # bound calls run many times
        for port in description.layouts:
            if port not in self.saved:
                self.results[port] = self.plain(request.shapes[port], port)

    def _repeatable(self, request):
        return not self.in_place and not isinstance(request.operation, NORMS)

    def _memory(self, request, port, layout, arrays):
        """The port's array: filled if it is read, else poisoned."""
        shape = request.shapes[port]
        block = poisoned(layout.nbytes)
        if layout.plain:
            block = block.view(np.float32).reshape(shape)
        self.blocks[port], before = (block, layout), self.blocks.get(port)
        if before is not None:
            self.engine.bind_reorder(shape, before, (block, layout), np.float32)()
        elif port in arrays:
            source = (np.float32(arrays[port]), plain_layout(shape))
            self.engine.bind_reorder(shape, source, (block, layout), np.float32)()
        return block

    def plain(self, shape, port):
        """The port's values; its padding must be zero, as a fresh copy's is."""
        block, layout = self.blocks[port]
        values = np.full(shape, np.nan, np.float32)
        whole = (values, plain_layout(shape))
        self.engine.bind_reorder(shape, (block, layout), whole, np.float32)()
        if not layout.plain:
            fresh = poisoned(layout.nbytes)
            self.engine.bind_reorder(shape, whole, (fresh, layout), np.float32)()
            assert np.array_equal(block, fresh), f"{port}: padding is not zero"
        return values


def poisoned(nbytes):
    """Memory full of NaN, for the whole vectors that the last elements lie in."""
    block = allocate(nbytes)
    block[...] = 0xFF
    return block


def assert_close(actual, wanted, what=""):
    """Within TOLERANCE of the largest expected value; empty windows have the least."""
    least = np.finfo(np.float32).min
    empty = wanted <= least
    np.testing.assert_array_equal(actual[empty], least)
    actual, wanted = actual[~empty], wanted[~empty]
    scale = max(1.0, np.abs(wanted).max(initial=0))
    error = np.abs(actual - wanted).max(initial=0)
    assert error <= TOLERANCE * scale, f"{what}: off by {error} (values to {scale})"


def check(engine, case, rng, *, which=None, home="plain", in_place=False):
    """Run forward and backward and compare all that they write."""
    arrays, wanted = random_arrays(case, rng), gradients(case, which)
    right = expected(case, arrays, wanted)
    trial = Trial(engine, case, home, in_place=in_place)
    if not trial.forward(arrays):
        assert engine.name in case.declined, f"{engine.name} declines {case.name}"
        return
    assert engine.name not in case.declined, f"{engine.name} can do {case.name} now"
    written = [p for p in case.shapes if p.startswith("top")]
    if isinstance(case.operation, BatchNorm):
        written += ["param0", "param1", "param2"]
    for port in written:
        assert_close(trial.results[port], right[port], port)
    if not wanted:
        return
    trial.backward(arrays, wanted)
    for port in wanted:
        assert_close(trial.results[port], right[port], port)
