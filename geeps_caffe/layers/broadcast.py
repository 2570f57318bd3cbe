"""A small array spread over some axes of a large one (Scale and Bias)."""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.device.array import Array, Shape, Shapes
from geeps_caffe.layers.base import Layer


@dataclass(frozen=True)
class Broadcast:
    """An array of `shape` that covers the axes of a blob from `axis` on."""

    shape: Shape
    axis: int
    ndim: int  # of the large blob

    @property
    def aligned(self) -> Shape:
        """The shape with 1 for each axis that is not covered."""
        after = self.ndim - self.axis - len(self.shape)
        return (1,) * self.axis + self.shape + (1,) * after

    def total(self, array: Array) -> Array:
        """The sum of a large array over the axes that are not covered."""
        end = self.axis + len(self.shape)
        axes = (*range(self.axis), *range(end, self.ndim))
        total: Array = array.sum(axis=axes).reshape(self.shape)
        return total


def broadcast_of(layer: Layer, param: Any, bottom: Shapes) -> Broadcast:
    """How the second bottom, or else the learnable blob, lies over the first bottom.

    `param` is the layer's ScaleParameter or BiasParameter.
    """
    if len(bottom) > 1:
        return _over_axes(layer, param, bottom[0], bottom[1])
    shape = bottom[0]
    if param.num_axes < -1:
        layer.fail(f"num_axes {param.num_axes} must be -1 or more")
    axis = layer.axis(param.axis, len(shape))
    end = len(shape) if param.num_axes == -1 else axis + param.num_axes
    if end > len(shape):
        layer.fail(
            f"axis {param.axis} and num_axes {param.num_axes} go beyond bottom[0] of "
            f"shape {shape}"
        )
    return Broadcast(shape[axis:end], axis, len(shape))


def _over_axes(layer: Layer, param: Any, large: Shape, small: Shape) -> Broadcast:
    # A scalar fits anywhere, so Caffe ignores its axis.
    axis = layer.axis(param.axis, len(large)) if small else 0
    if large[axis : axis + len(small)] != small:
        layer.fail(
            f"bottom[1] of shape {small} does not fit the axes of bottom[0] of shape "
            f"{large} from axis {axis} on ({large[axis : axis + len(small)]})"
        )
    return Broadcast(small, axis, len(large))
