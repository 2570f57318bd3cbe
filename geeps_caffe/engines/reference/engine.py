"""ReferenceEngine: runs the definitions as they are, on plain arrays."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from geeps_caffe.device.array import Array, ArrayModule, Shape
from geeps_caffe.device.device import Device, HostDevice
from geeps_caffe.engines.engine import (
    Call,
    Description,
    Draw,
    Lanes,
    Layout,
    Request,
    Updates,
    plain_layout,
    plain_rows,
)
from geeps_caffe.engines.functions import Functions
from geeps_caffe.engines.one_lane import OneLane, in_turn
from geeps_caffe.engines.reference import DEFINITIONS
from geeps_caffe.engines.reference.functions import ArrayFunctions


class ReferenceEngine:
    """NumPy, in the arrays' own dtype; runs everything, everywhere."""

    name = "reference"
    xp: ArrayModule = np
    updates: Updates | None = None
    draw: Draw | None = None

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads  # NumPy's BLAS has its own
        self.device: Device = HostDevice()
        self.lanes: Lanes | None = OneLane(self.describe, self.bind)

    def describe(self, request: Request) -> Description | None:
        """All arrays are plain; backward names only the ports that it reads.

        Sums over parts are left to those who make the parts.
        """
        if request.parts and request.sums:
            return None
        definition = DEFINITIONS[type(request.operation)]
        ports = {
            port: plain_layout(shape, request.dtype)
            for port, shape in request.shapes.items()
            if request.direction == "forward" or _touches(port, definition.reads)
        }
        if not (request.training or request.direction == "backward"):
            return Description(ports, implementation="numpy")
        itemsize = np.dtype(request.dtype).itemsize
        saved = definition.saved(request.operation, request.shapes, itemsize)
        ports |= {f"saved{i}": Layout("plain", s.nbytes) for i, s in enumerate(saved)}
        kept = saved if request.direction == "forward" else ()
        return Description(ports, kept, implementation="numpy")

    def functions(self, dtype: npt.DTypeLike) -> Functions:
        """NumPy's."""
        del dtype
        return ArrayFunctions()

    def bind(
        self,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """The definition's pass over these arrays."""
        del scratch
        definition = DEFINITIONS[type(request.operation)]
        forward = request.direction == "forward"
        run = definition.forward if forward else definition.backward
        ports = {port: arrays[port] for port in description.layouts}
        if not request.parts:
            return partial(run, request.operation, self.xp, ports)
        parts = [
            _records(ports, first, request.parts) for first in range(request.parts)
        ]
        return in_turn([[partial(run, request.operation, self.xp, p) for p in parts]])

    def bind_reorder(
        self,
        shape: Shape,
        source: tuple[Array, Layout],
        target: tuple[Array, Layout],
        dtype: npt.DTypeLike,
    ) -> Call:
        """A copy: there is one layout here."""
        del dtype
        assert source[1].plain and target[1].plain, "the reference knows plain arrays"
        read, written = source[0].reshape(shape), target[0].reshape(shape)
        return partial(np.copyto, written, read)

    def rows_layout(self, shape: Shape, layout: Layout, rows: int) -> Layout | None:
        """Any rows of a plain array lie together."""
        return plain_rows(shape, layout, rows)

    def bind_momentum(
        self,
        weights: Array,
        grad: Array,
        history: Array,
        momentum: float,
        *,
        exact: bool = False,
    ) -> None:
        """Nothing better than what `solvers` do."""


def _records(ports: Mapping[str, Array], first: int, step: int) -> dict[str, Array]:
    """The ports with some of a batch's records; params are whole.

    The same records make products of the same shape in any batch of such parts: so BLAS
    adds in the same order.
    """
    return {
        port: array if port.startswith("param") else array[first::step]
        for port, array in ports.items()
    }


def _touches(port: str, reads: frozenset[str]) -> bool:
    """Whether backward uses a port: gradients, and the kinds that it reads."""
    kind = port.rstrip("0123456789")
    return port.endswith(".diff") or kind in reads or port in reads
