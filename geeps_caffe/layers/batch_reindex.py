"""The BatchReindex layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run
from geeps_caffe.layers.top_diff import top_diff


class BatchReindex(Layer):
    """Item i of the top is item bottom[1][i] of bottom[0] (axis 0).

    bottom[1] has shape (M,), the top (M, ...). Items may be repeated or left out.
    """

    type_name = "BatchReindex"
    bottoms = (2, 2)
    backward_reads = frozenset({"bottom1"})
    no_gradient = frozenset({1})

    def setup(self, bottom: Shapes) -> None:
        """Check that the indices are a list."""
        if len(bottom[1]) != 1:
            self.fail(f"bottom[1], the indices, has shape {bottom[1]}; expected (M,)")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """As many items as there are indices."""
        return [(*bottom[1], *bottom[0][1:])]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Gather; an index out of range is an error."""
        index = bottom[1].data.astype(run.xp.int64)
        items = bottom[0].shape[0]
        wrong = (index < 0) | (index >= items)
        if wrong.any():
            place = int(run.xp.argmax(wrong))
            self.fail(
                f"index {index[place]} at position {place} of bottom[1] is outside of "
                f"the {items} items of bottom[0]; allowed are 0 to {items - 1}"
            )
        run.functions.gather_rows(bottom[0].data, index, top[0].data)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Diffs of items that were repeated are summed."""
        if bottom[0].diff is not None:
            index = bottom[1].data.astype(run.xp.int64)
            dy = top_diff(run.xp, top[0])
            run.functions.scatter_add_rows(dy, index, bottom[0].diff)
