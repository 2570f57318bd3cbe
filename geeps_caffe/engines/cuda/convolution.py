"""Convolution and Deconvolution, by columns and matrix products."""

from collections.abc import Callable

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.columns import Columns, Geometry, geometry
from geeps_caffe.engines.cuda.kit import Entry, Pass
from geeps_caffe.engines.cuda.pooling import accepts
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.operations import Deconvolution


def _sizes(request: Request) -> Geometry:
    """From image to output, which for a Deconvolution is from top to bottom."""
    bottom, top = _shape(request, "bottom0"), _shape(request, "top0")
    operation = request.operation
    if isinstance(operation, Deconvolution):
        return geometry(operation, top, bottom)
    return geometry(operation, bottom, top)  # type: ignore[arg-type]


def _shape(request: Request, port: str) -> Shape:
    return request.shapes.get(port) or request.shapes[f"{port}.diff"]


def _scratch(request: Request) -> int:
    return _sizes(request).scratch


def _columns(work: Pass) -> Columns:
    sizes = _sizes(work.request)
    return Columns(work.kit, sizes, None if sizes.pointwise else work.scratch)


def forward(work: Pass) -> list[Call]:
    """top0 = bottom0 * param0 + param1."""
    ports, columns = work.ports, _columns(work)
    transposed = isinstance(work.operation, Deconvolution)
    product = columns.spread if transposed else columns.correlate
    calls = product(ports["bottom0"], ports["param0"], ports["top0"])
    if work.operation.bias:
        y = ports["top0"]
        args = (y, ports["param1"], y, *_channels(work, y)[1:])
        calls.append(work.kernel("broadcast.cu", "bias_forward", y.size, *args))
    return calls


def backward(work: Pass) -> list[Call]:
    """The gradients that are asked for."""
    ports, columns = work.ports, _columns(work)
    dy, calls = ports["top0.diff"], []
    if "param1.diff" in ports:
        outer, channels, inner = _channels(work, dy)
        args = (dy, ports["param1.diff"], outer, inner)
        calls.append(work.kernel("broadcast.cu", "sum_over", channels, *args))
    transposed = isinstance(work.operation, Deconvolution)
    if "param0.diff" in ports:
        pair = (ports["bottom0"], dy)
        image, out = pair[::-1] if transposed else pair
        calls += columns.weight_gradient(image, out, ports["param0.diff"])
    if "bottom0.diff" in ports:
        product: Callable[[Array, Array, Array], list[Call]] = (
            columns.correlate if transposed else columns.spread
        )
        calls += product(dy, ports["param0"], ports["bottom0.diff"])
    return calls


def _channels(work: Pass, y: Array) -> tuple[int, int, int]:
    """Images, channels and pixels of the top."""
    axes = len(work.operation.kernel)
    channels = y.shape[-axes - 1]
    inner = 1
    for extent in y.shape[-axes:]:
        inner *= extent
    return y.size // (channels * inner), channels, inner


ENTRY = Entry(forward, backward, _scratch, accepts, implementation="cuda columns")
