"""Convolution and Deconvolution: cuDNN where it is, else columns and products."""

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


def _product(work: Pass, kind: str, x: Array, y: Array, w: Array) -> list[Call]:
    """One of "correlate", "spread" and "weight_gradient", by cuDNN or by columns."""
    sizes = _sizes(work.request)
    if work.kit.cudnn is not None:
        scratch = work.workspace(0, sizes.scratch // 4) if sizes.scratch else x[:0]
        arrays = {"x": x, "y": y, "w": w}
        call = work.kit.cudnn.bind(kind, sizes, arrays, scratch)
        if call is not None:
            return [call]
    columns = Columns(work.kit, sizes, None if sizes.pointwise else work.scratch)
    match kind:
        case "correlate":
            return columns.correlate(x, w, y)
        case "spread":
            return columns.spread(y, w, x)
        case _:
            return columns.weight_gradient(x, y, w)


def forward(work: Pass) -> list[Call]:
    """top0 = bottom0 * param0 + param1."""
    ports = work.ports
    pair = (ports["bottom0"], ports["top0"])
    if isinstance(work.operation, Deconvolution):
        calls = _product(work, "spread", *pair[::-1], ports["param0"])
    else:
        calls = _product(work, "correlate", *pair, ports["param0"])
    if work.operation.bias:
        y = ports["top0"]
        args = (y, ports["param1"], y, *_channels(work, y)[1:])
        calls.append(work.kernel("broadcast.cu", "bias_forward", y.size, *args))
    return calls


def backward(work: Pass) -> list[Call]:
    """The gradients that are asked for."""
    ports, dy = work.ports, work.ports["top0.diff"]
    transposed = isinstance(work.operation, Deconvolution)
    calls = []
    if "param1.diff" in ports:
        outer, channels, inner = _channels(work, dy)
        args = (dy, ports["param1.diff"], outer, inner)
        calls.append(work.kernel("broadcast.cu", "sum_over", channels, *args))
    if "param0.diff" in ports:
        pair = (ports["bottom0"], dy)
        image, out = pair[::-1] if transposed else pair
        calls += _product(work, "weight_gradient", image, out, ports["param0.diff"])
    if "bottom0.diff" in ports:
        dx, w = ports["bottom0.diff"], ports["param0"]
        if transposed:
            calls += _product(work, "correlate", dy, dx, w)
        else:
            calls += _product(work, "spread", dx, dy, w)
    return calls


def _channels(work: Pass, y: Array) -> tuple[int, int, int]:
    """Images, channels and pixels of the top."""
    axes = len(work.operation.kernel)
    channels = y.shape[-axes - 1]
    inner = 1
    for extent in y.shape[-axes:]:
        inner *= extent
    return y.size // (channels * inner), channels, inner


ENTRY = Entry(forward, backward, _scratch, accepts, implementation="cuda convolution")
