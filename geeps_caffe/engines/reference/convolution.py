"""Convolution: matrix products of the weights with the windows of each image.

An image's result is the same bits in any batch. (BLAS adds in another order for some
columns of a product, such as the last ones.)

The three functions at the top also make the transposed convolution, with image and
output in each other's place. `w` is (A, B / group, kernel ...), the image has B
channels and the output A.
"""

from collections.abc import Iterator
from typing import TypeAlias

from geeps_caffe.device.array import Array, ArrayModule, count
from geeps_caffe.engines import operations
from geeps_caffe.engines.reference.definition import Definition, Ports
from geeps_caffe.engines.reference.windows import (
    Windows,
    fold,
    images,
    pad,
    view,
)

Op: TypeAlias = operations.Convolution | operations.Deconvolution

COLUMN_BYTES = 1 << 26  # of windows that are laid out at a time


def correlate(xp: ArrayModule, operation: Op, x: Array, w: Array, y: Array) -> None:
    """y (N, A, out ...) = x (N, B, image ...) * w, bias not added."""
    weights = _grouped(w, operation.group)
    for part in _parts(operation, x, y):
        laid = _laid_out(xp, operation, x[part], y)
        columns = laid.reshape(len(laid), *_groups(operation, x), count(y.shape[2:]))
        product = xp.matmul(weights, columns)  # (n, group, A / group, out)
        y[part] = product.reshape(y[part].shape)


def spread(xp: ArrayModule, operation: Op, y: Array, w: Array, x: Array) -> None:
    """x (N, B, image ...): the transpose of `correlate` in x, applied to y."""
    weights = _grouped(w, operation.group).transpose(0, 2, 1)
    windows = _windows(operation, x, y)
    for part in _parts(operation, x, y):
        images = y[part].reshape(
            -1, operation.group, weights.shape[2], count(windows.out)
        )
        columns = xp.matmul(weights, images)  # (n, group, B / group * kernel, out)
        shape = (len(images), x.shape[1], *operation.kernel, *windows.out)
        x[part] = fold(xp, windows, columns.reshape(shape))


def weight_gradient(
    xp: ArrayModule, operation: Op, x: Array, dy: Array, dw: Array
) -> None:
    """dw: the transpose of `correlate` in w, applied to dy."""
    total = xp.zeros(_grouped(dw, operation.group).shape, dw.dtype)
    for part in _parts(operation, x, dy):
        laid = xp.moveaxis(_laid_out(xp, operation, x[part], dy), 0, dy.ndim - 1)
        columns = laid.reshape(*_groups(operation, x), -1)
        total += xp.matmul(
            _by_channel(dy[part], operation.group), columns.transpose(0, 2, 1)
        )
    dw[...] = total.reshape(dw.shape)


def add_bias(operation: Op, y: Array, bias: Array) -> None:
    """Add one number to each channel of y (N, K, ...)."""
    y += bias.reshape((-1,) + (1,) * len(operation.kernel))


def bias_gradient(dy: Array, db: Array) -> None:
    """db (K,) = the sums of dy (N, K, ...) over all other axes."""
    db.reshape(-1)[...] = dy.sum(axis=(0, *range(2, dy.ndim)))


def _windows(operation: Op, x: Array, y: Array) -> Windows:
    return Windows(
        operation.kernel,
        operation.stride,
        operation.pad,
        operation.dilation,
        x.shape[2:],
        y.shape[2:],
    )


def _grouped(w: Array, group: int) -> Array:
    return w.reshape(group, w.shape[0] // group, -1)


def _parts(operation: Op, x: Array, y: Array) -> Iterator[slice]:
    """Runs of images whose windows are laid out together."""
    each = x.shape[1] * count(operation.kernel) * count(y.shape[2:]) * x.itemsize
    step = max(1, COLUMN_BYTES // max(1, each))
    for begin in range(0, len(x), step):
        yield slice(begin, begin + step)


def _laid_out(xp: ArrayModule, operation: Op, x: Array, y: Array) -> Array:
    """A view (n, B, kernel ..., out ...) of the windows of n images."""
    windows = _windows(operation, x, y)
    return view(xp, windows, pad(xp, windows, x))


def _groups(operation: Op, x: Array) -> tuple[int, int]:
    """(group, B / group * kernel): the groups, and the elements of each's windows."""
    group = operation.group
    return group, x.shape[1] // group * count(operation.kernel)


def _by_channel(y: Array, group: int) -> Array:
    """(n, A, out ...) to (group, A / group, n * out)."""
    return y.swapaxes(0, 1).reshape(group, y.shape[1] // group, -1)


def forward(operation: operations.Convolution, xp: ArrayModule, ports: Ports) -> None:
    """top0 = bottom0 * param0 + param1."""
    axes = len(operation.kernel)
    x, y = images(ports["bottom0"], axes), images(ports["top0"], axes)
    correlate(xp, operation, x, ports["param0"], y)
    if operation.bias:
        add_bias(operation, y, ports["param1"])


def backward(operation: operations.Convolution, xp: ArrayModule, ports: Ports) -> None:
    """The gradients that are asked for."""
    axes = len(operation.kernel)
    dy = images(ports["top0.diff"], axes)
    if "param1.diff" in ports:
        bias_gradient(dy, ports["param1.diff"])
    if "param0.diff" in ports:
        x = images(ports["bottom0"], axes)
        weight_gradient(xp, operation, x, dy, ports["param0.diff"])
    if "bottom0.diff" in ports:
        dx = images(ports["bottom0.diff"], axes)
        spread(xp, operation, dy, ports["param0"], dx)


DEFINITION = Definition(forward, backward, frozenset({"bottom", "param"}))
