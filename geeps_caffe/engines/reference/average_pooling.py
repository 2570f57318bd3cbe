"""AveragePooling: window sums, axis after axis, over the size of the window.

The size is that of the window clipped to the padded image, so zeros of the padding
count, and what lies beyond it does not (Caffe's rule).
"""

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.engines.operations import AveragePooling
from geeps_caffe.engines.reference.definition import Definition, Ports
from geeps_caffe.engines.reference.windows import Windows, fold, images, pad


def _one_axis(
    xp: ArrayModule, operation: AveragePooling, axis: int, image: int, out: int
) -> tuple[Windows, Array]:
    """The windows along one spatial axis, and their sizes (out,)."""
    kernel, stride, edge = (
        values[axis] for values in (operation.kernel, operation.stride, operation.pad)
    )
    begin = xp.arange(out) * stride - edge
    end = xp.minimum(begin + kernel, image + edge)
    sizes = xp.maximum(end - begin, 1)  # a window beyond the image is empty
    return Windows((kernel,), (stride,), (edge,), (1,), (image,), (out,)), sizes


def forward(operation: AveragePooling, xp: ArrayModule, ports: Ports) -> None:
    """top0 = the means of the windows of bottom0."""
    axes = len(operation.kernel)
    x, y = images(ports["bottom0"], axes), images(ports["top0"], axes)
    for axis in range(len(operation.kernel)):
        at = 2 + axis
        windows, sizes = _one_axis(xp, operation, axis, x.shape[at], y.shape[at])
        moved = xp.moveaxis(x, at, -1)
        flat = moved.reshape(1, -1, moved.shape[-1])
        padded = pad(xp, windows, flat)
        # Summing views of the pixels is four times as fast as one sum of `view`.
        means = sum(padded[pixels] for _, pixels in windows.positions())
        means /= sizes.astype(x.dtype)
        x = xp.moveaxis(means.reshape((*moved.shape[:-1], y.shape[at])), -1, at)
    y[...] = x


def backward(operation: AveragePooling, xp: ArrayModule, ports: Ports) -> None:
    """Each pixel gets the same share of its windows' diffs."""
    axes = len(operation.kernel)
    dx = images(ports["bottom0.diff"], axes)
    dy = images(ports["top0.diff"], axes)
    for axis in range(len(operation.kernel)):
        at = 2 + axis
        windows, sizes = _one_axis(xp, operation, axis, dx.shape[at], dy.shape[at])
        moved = xp.moveaxis(dy, at, -1)
        flat = (moved / sizes.astype(dy.dtype)).reshape(1, -1, 1, moved.shape[-1])
        columns = xp.broadcast_to(
            flat, (1, flat.shape[1], *windows.kernel, flat.shape[3])
        )
        image = fold(xp, windows, columns)
        dy = xp.moveaxis(image.reshape((*moved.shape[:-1], dx.shape[at])), -1, at)
    dx[...] = dy


DEFINITION = Definition(forward, backward, frozenset())
