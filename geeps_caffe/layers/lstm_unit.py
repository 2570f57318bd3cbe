"""One step of an LSTM: the LSTMUnit layer, and its arithmetic for the LSTM layer."""

from geeps_caffe.device.array import Array, ArrayModule, Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run, SavedSpec
from geeps_caffe.layers.logistic import logistic
from geeps_caffe.layers.top_diff import top_diff


def step(xp: ArrayModule, gates: Array, before: Array, cont: Array) -> Array:
    """The cells (N, H) after one step, from those `before` it.

    `gates` (N, 4 H) holds the sums of the gates i, f, o, g and is overwritten by
    their values; f is multiplied with `cont` (N, 1), which is 0 where a sequence
    starts.
    """
    size = before.shape[-1]
    gates[:, : 3 * size] = logistic(xp, gates[:, : 3 * size])
    gates[:, 3 * size :] = xp.tanh(gates[:, 3 * size :])
    i, f, _, g = _parts(gates)
    f *= cont
    cells: Array = f * before + i * g
    return cells


def hidden(xp: ArrayModule, gates: Array, cells: Array) -> Array:
    """What the step shows: o tanh(c)."""
    shown: Array = _parts(gates)[2] * xp.tanh(cells)
    return shown


def step_back(
    xp: ArrayModule,
    gates: Array,
    before: Array,
    cells: Array,
    diffs: tuple[Array, Array],
    gate_diffs: Array,
) -> Array:
    """Write the diffs of the gates' sums; the diff of the cells before the step.

    `diffs` are those of the cells and of what the step shows. The slope of f is
    f (1 - f), cont included, which is Caffe's and exact where cont is 0 or 1.
    """
    i, f, o, g = _parts(gates)
    di, df, do, dg = _parts(gate_diffs)
    squashed = xp.tanh(cells)
    dc: Array = diffs[0] + diffs[1] * o * (1 - squashed * squashed)
    di[...] = dc * g * i * (1 - i)
    df[...] = dc * before * f * (1 - f)
    do[...] = diffs[1] * squashed * o * (1 - o)
    dg[...] = dc * i * (1 - g * g)
    dc *= f
    return dc


def _parts(gates: Array) -> list[Array]:
    """Views of the gates i, f, o, g."""
    size = gates.shape[-1] // 4
    return [gates[:, k * size : (k + 1) * size] for k in range(4)]


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
        cont = bottom[2].data.reshape(-1, 1)
        top[0].data[0] = step(run.xp, gates, bottom[0].data[0], cont)
        top[1].data[0] = hidden(run.xp, gates, top[0].data[0])

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """One step back."""
        gate_diffs = run.xp.empty_like(run.saved[0])
        before, cells = bottom[0].data[0], top[0].data[0]
        diffs = (top_diff(run.xp, top[0])[0], top_diff(run.xp, top[1])[0])
        dc = step_back(run.xp, run.saved[0], before, cells, diffs, gate_diffs)
        if bottom[0].diff is not None:
            bottom[0].diff[0] = dc
        if bottom[1].diff is not None:
            bottom[1].diff[0] = gate_diffs
