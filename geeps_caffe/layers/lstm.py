"""The LSTM layer."""

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, ParamSpec, Run, SavedSpec
from geeps_caffe.layers.recurrent import Recurrent, states_before
from geeps_caffe.layers.top_diff import top_diff


class LSTM(Recurrent):
    """Gates i, f, o, g = W_xc x + b_c + W_hc (cont h), then the step of LSTMUnit.

    Blobs: W_xc (4 H, D), b_c (4 H,), with a static input W_xc_static, W_hc (4 H, H).
    States h and c; the output is h.
    """

    type_name = "LSTM"
    bottoms = (2, 5)
    tops = (1, 3)
    states = ("h", "c")
    gates = 4
    backward_reads = frozenset({"bottom0", "bottom1", "bottom2", "top0"})

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """W_xc, b_c, W_xc_static, W_hc."""
        return [*self.input_specs(bottom), self.weight((4 * self.size, self.size))]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """h and c at the start; gates and cells at all times."""
        time, batch = bottom[0][:2]
        return [
            *super().saved_specs(bottom),
            SavedSpec((time, batch, 4 * self.size)),
            SavedSpec((time, batch, self.size)),
        ]

    def unroll(self, run: Run, sums: Array, cont: Array, out: Array) -> list[Array]:
        """The steps in their order."""
        h, c, gates, cells = run.saved
        weights = run.params[-1].data.T
        for t in range(len(sums)):
            gates[t] = sums[t] + (cont[t][:, None] * h) @ weights
            run.functions.lstm_step(gates[t], c, cont[t], cells[t], out[t])
            h, c = out[t], cells[t]
        return [h, c]

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The steps from the last to the first."""
        first_h, first_c, gates, cells = run.saved
        cont, weights = bottom[1].data, run.params[-1]
        diffs, dy = run.xp.empty_like(gates), top_diff(run.xp, top[0])
        dh, dc = run.xp.zeros_like(first_h), run.xp.zeros_like(first_c)
        for t in reversed(range(len(gates))):
            before = cells[t - 1] if t else first_c
            above = (dc, dy[t] + dh)
            run.functions.lstm_step_back(
                gates[t], before, cells[t], above, diffs[t], dc
            )
            dh = (diffs[t] @ weights.data) * cont[t][:, None]
        if weights.diff is not None:
            before = states_before(first_h, top[0].data, cont)
            rows = diffs.reshape(-1, diffs.shape[-1])
            weights.diff[...] = rows.T @ before.reshape(len(rows), -1)
        self.way_back(run, bottom, diffs)
