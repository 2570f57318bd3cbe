"""InnerProduct: a matrix product, and a bias added to each row."""

from geeps_caffe.device.array import Array, ArrayModule, count
from geeps_caffe.engines.operations import InnerProduct
from geeps_caffe.engines.reference.definition import Definition, Ports


def _matrices(operation: InnerProduct, x: Array, y: Array) -> tuple[Array, Array]:
    """x as (M, K) and y as (M, N)."""
    rows, axis = count(x.shape[: operation.axis]), operation.axis
    each = count(x.shape[axis:]), count(y.shape[axis:])
    return x.reshape(rows, each[0]), y.reshape(rows, each[1])


def forward(operation: InnerProduct, xp: ArrayModule, ports: Ports) -> None:
    """top0 = bottom0 @ param0.T + param1."""
    x, y = _matrices(operation, ports["bottom0"], ports["top0"])
    w = ports["param0"]
    xp.matmul(x, w if operation.transpose else w.T, out=y)
    if operation.bias:
        y += ports["param1"].reshape(-1)


def backward(operation: InnerProduct, xp: ArrayModule, ports: Ports) -> None:
    """The gradients that are asked for."""
    if "bottom0.diff" in ports:
        w = ports["param0"]
        dx, dy = _matrices(operation, ports["bottom0.diff"], ports["top0.diff"])
        xp.matmul(dy, w.T if operation.transpose else w, out=dx)
    if "param0.diff" in ports:
        x, dy = _matrices(operation, ports["bottom0"], ports["top0.diff"])
        pair = (x.T, dy) if operation.transpose else (dy.T, x)
        xp.matmul(*pair, out=ports["param0.diff"])
    if "param1.diff" in ports:
        dy = ports["top0.diff"].reshape(-1, ports["param1.diff"].size)
        ports["param1.diff"].reshape(-1)[...] = dy.sum(axis=0)


DEFINITION = Definition(forward, backward, frozenset({"bottom", "param"}))
