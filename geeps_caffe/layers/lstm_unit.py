"""The LSTMUnit layer."""

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blob, Blobs, Layer, Run, SavedSpec
from geeps_caffe.layers.top_diff import top_diff


class LSTMUnit(Layer):
    """c = f c_prev + i g and h = o tanh(c), with f 0 where cont is 0.

    bottom[0] c_prev (1, N, H); bottom[1] the sums of the gates i, f, o, g, (1, N,
    4 H); bottom[2] cont (1, N). top[0] c and top[1] h, (1, N, H).
    """

    type_name = "LSTMUnit"
    bottoms = (3, 3)
    tops = (2, 2)
    backward_reads = frozenset({"bottom0", "top0"})
    no_gradient = frozenset({2})

    def setup(self, bottom: Shapes) -> None:
        """Check the shapes."""
        cells = bottom[0]
        expected = [
            (1, *cells[1:2], *cells[2:3]),
            (1, *cells[1:2], 4 * (cells[2] if len(cells) > 2 else 0)),
            (1, *cells[1:2]),
        ]
        if len(cells) != 3 or list(bottom) != expected:
            self.fail(
                f"bottoms of shapes {', '.join(map(str, bottom))}; expected "
                "(1, N, H), (1, N, 4 H) and (1, N)"
            )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """Twice the shape of the cells."""
        return [bottom[0], bottom[0]]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """The values of the gates."""
        return [SavedSpec(bottom[1][1:])]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """One step."""
        gates = run.saved[0]
        gates[...] = bottom[1].data[0]
        cells, shown = top[0].data[0], top[1].data[0]
        cont = bottom[2].data.reshape(-1)
        run.functions.lstm_step(gates, bottom[0].data[0], cont, cells, shown)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """One step back."""
        gates, before, cells = run.saved[0], bottom[0].data[0], top[0].data[0]
        above = (top_diff(run.xp, top[0])[0], top_diff(run.xp, top[1])[0])
        gate_diffs = _target(run, bottom[1], gates)
        before_diff = _target(run, bottom[0], before)
        run.functions.lstm_step_back(
            gates, before, cells, above, gate_diffs, before_diff
        )


def _target(run: Run, blob: Blob, like: Array) -> Array:
    """Where a gradient goes; to nowhere if nobody asks for it."""
    if blob.diff is None:
        nowhere: Array = run.xp.empty_like(like)
        return nowhere
    first: Array = blob.diff[0]
    return first
