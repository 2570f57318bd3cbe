"""A layer that stands for several: what passes over a graph put in their place."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines.operations import Operation
from geeps_caffe.layers.base import Layer


class Merged(Layer):
    """`first` and the layers behind it, which are one operation together."""

    def __init__(self, first: Layer, operation: Operation) -> None:
        super().__init__(first.spec, first.setting)
        self.type_name = first.type_name  # type: ignore[misc]  # for messages
        self._first, self._whole = first, operation

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """Those of the first; the others keep them."""
        return self._first.infer_shapes(bottom)

    def operation(self) -> Operation:
        """All of it."""
        return self._whole
