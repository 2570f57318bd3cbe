"""MaxPooling: the largest pixel of each window, found place by place of the kernel."""

from geeps_caffe.device.array import Array, ArrayModule, count
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import MaxPooling
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes
from geeps_caffe.engines.reference.windows import Windows, images, pad

NOTHING = -1  # the index of a window without a pixel, or of NaN alone


def _windows(operation: MaxPooling, x: Array, y: Array) -> Windows:
    once = (1,) * len(operation.kernel)
    return Windows(
        operation.kernel,
        operation.stride,
        operation.pad,
        once,
        x.shape[2:],
        y.shape[2:],
    )


def _indices(xp: ArrayModule, windows: Windows) -> Array:
    """The flat index of each pixel of the padded image; NOTHING on the padding."""
    image = (1, 1, *windows.image)
    inner = xp.arange(count(image), dtype=xp.int32).reshape(image)
    indices: Array = pad(xp, windows, inner, NOTHING)[0, 0]
    return indices


def forward(operation: MaxPooling, xp: ArrayModule, ports: Ports) -> None:
    """top0 and its indices: saved0, and top1 where there is one.

    As in Caffe a value wins if it is larger than all before it and than the least
    finite number, so a window of NaN alone gives that number.
    """
    axes = len(operation.kernel)
    x, y = images(ports["bottom0"], axes), images(ports["top0"], axes)
    windows = _windows(operation, x, y)
    padded, indices = pad(xp, windows, x, -xp.inf), _indices(xp, windows)
    best = xp.full(y.shape, xp.finfo(y.dtype).min, y.dtype)
    index = xp.full(y.shape, NOTHING, xp.int32)
    for _, pixels in windows.positions():
        candidate = padded[pixels]
        better = candidate > best
        xp.copyto(best, candidate, where=better)
        xp.copyto(index, indices[pixels], where=better)
    y[...] = best
    for port in ("saved0", "top1"):
        if port in ports:
            ports[port][...] = index.reshape(ports[port].shape)


def backward(operation: MaxPooling, xp: ArrayModule, ports: Ports) -> None:
    """Each top diff goes to the pixel that won."""
    axes = len(operation.kernel)
    dx = images(ports["bottom0.diff"], axes)
    dy = images(ports["top0.diff"], axes)
    windows = _windows(operation, dx, dy)
    index, indices = ports["saved0"].reshape(dy.shape), _indices(xp, windows)
    padded = xp.zeros(dx.shape[:2] + windows.padded, dx.dtype)
    for _, pixels in windows.positions():
        padded[pixels] += xp.where(index == indices[pixels], dy, 0)
    dx[...] = padded[windows.inside]


def saved(
    operation: MaxPooling, shapes: Shapes, itemsize: int
) -> tuple[SavedArray, ...]:
    """The winners' indices in the image plane."""
    del operation, itemsize
    shape = shapes["top0"]
    return (SavedArray(4 * count(shape), shape, "int32"),)


DEFINITION = Definition(forward, backward, frozenset(), saved)
