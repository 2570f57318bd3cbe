"""The Input layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run


class Input(Layer):
    """Tops that the caller fills; one shape for all of them, or one for each."""

    type_name = "Input"
    bottoms = (0, 0)
    tops = (1, None)
    is_source = True
    backward_reads = frozenset()

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The declared shapes."""
        del bottom
        shapes = [tuple(shape.dim) for shape in self.spec.input_param.shape]
        tops = len(self.spec.top)
        if len(shapes) not in (1, tops):
            self.fail(
                f"input_param has {len(shapes)} shapes for {tops} tops; give one for "
                "all tops, or one for each"
            )
        return shapes if len(shapes) == tops else shapes * tops

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Nothing; the caller has written the tops."""

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; there are no bottoms."""
