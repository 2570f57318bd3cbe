"""InnerProduct: one matrix product each, and a kernel for the bias."""

from geeps_caffe.device.array import count
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass
from geeps_caffe.engines.cuda.matrices import Matrix


def _sizes(work: Pass) -> tuple[int, int, int]:
    """Rows, inputs and outputs."""
    operation, shapes = work.operation, work.request.shapes
    inputs, outputs = shapes["param0"]
    if not operation.transpose:
        inputs, outputs = outputs, inputs
    top = shapes.get("top0") or shapes["top0.diff"]
    return count(top) // outputs, inputs, outputs


def _weights(work: Pass, port: str, *, turned: bool) -> Matrix:
    """As (inputs, outputs), or `turned` as (outputs, inputs)."""
    rows, columns = work.request.shapes["param0"]
    flip = work.operation.transpose == turned
    return Matrix(work.ports[port], rows, columns, flip)


def forward(work: Pass) -> list[Call]:
    """top0 = bottom0 @ param0.T + param1."""
    rows, inputs, outputs = _sizes(work)
    y = work.ports["top0"]
    x = Matrix(work.ports["bottom0"], rows, inputs)
    weights = _weights(work, "param0", turned=False)
    calls = [work.kit.matrices.bind(x, weights, Matrix(y, rows, outputs))]
    if work.operation.bias:
        args = (y, work.ports["param1"], y, outputs, 1)
        calls.append(work.kernel("broadcast.cu", "bias_forward", y.size, *args))
    return calls


def backward(work: Pass) -> list[Call]:
    """The gradients that are asked for."""
    rows, inputs, outputs = _sizes(work)
    ports, product = work.ports, work.kit.matrices.bind
    dy, calls = ports["top0.diff"], []
    if "bottom0.diff" in ports:
        weights = _weights(work, "param0", turned=True)
        dx = Matrix(ports["bottom0.diff"], rows, inputs)
        calls.append(product(Matrix(dy, rows, outputs), weights, dx))
    if "param0.diff" in ports:
        calls.append(_weight_gradient(work, rows, inputs, outputs))
    if "param1.diff" in ports:
        args = (dy, ports["param1.diff"], rows, 1)
        calls.append(work.kernel("broadcast.cu", "sum_over", outputs, *args))
    return calls


def _weight_gradient(work: Pass, rows: int, inputs: int, outputs: int) -> Call:
    x, dy = work.ports["bottom0"], work.ports["top0.diff"]
    dw, (first, second) = work.ports["param0.diff"], work.request.shapes["param0"]
    left, right = (dy, outputs), (x, inputs)
    if work.operation.transpose:
        left, right = right, left
    return work.kit.matrices.bind(
        Matrix(left[0], rows, left[1], transposed=True),
        Matrix(right[0], rows, right[1]),
        Matrix(dw, first, second),
    )


ENTRY = Entry(forward, backward)
