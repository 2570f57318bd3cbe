"""The Dropout layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Run, SavedSpec
from geeps_caffe.layers.neuron import Neuron
from geeps_caffe.layers.top_diff import top_diff


class Dropout(Neuron):
    """In TRAIN y = x / (1 - ratio) where a coin falls well, else 0; in TEST y = x.

    The coins of a record are a function of seed, layer, iteration and the record's
    global index. With SegNet's sample_weights_test they fall in TEST too. May run in
    place; the mask is saved.
    """

    type_name = "Dropout"
    backward_reads = frozenset()

    def setup(self, bottom: Shapes) -> None:
        """Check the ratio."""
        del bottom
        param = self.spec.dropout_param
        if not 0 <= param.dropout_ratio < 1:
            self.fail(
                f"dropout_ratio {param.dropout_ratio:g} must be at least 0 and below 1"
            )
        self.active = self.setting.phase == "TRAIN" or param.sample_weights_test
        self.factor = 1 / (1 - param.dropout_ratio)

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """Which values were kept."""
        return [SavedSpec(bottom[0], "bool")] if self.active else []

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Draw the mask and apply it."""
        if not self.active:
            top[0].data[...] = bottom[0].data
            return
        dropped = int(self.spec.dropout_param.dropout_ratio * 2**32)
        kept, coins = run.saved[0], (dropped, self.factor)
        x, y = bottom[0].data, top[0].data
        run.functions.dropout(run.random, x, *coins, kept, y)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The same mask on the diff."""
        if bottom[0].diff is None:
            return
        if self.active:
            dy, dx = top_diff(run.xp, top[0]), bottom[0].diff
            run.functions.dropout_back(dy, run.saved[0], self.factor, dx)
        else:
            bottom[0].diff[...] = top[0].diff
