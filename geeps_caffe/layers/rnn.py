"""The RNN layer."""

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, ParamSpec, Run, SavedSpec
from geeps_caffe.layers.recurrent import Recurrent, states_before
from geeps_caffe.layers.top_diff import top_diff


class RNN(Recurrent):
    """h = tanh(W_xh x + b_h + W_hh (cont h)), and the output tanh(W_ho h + b_o).

    Blobs: W_xh (H, D), b_h (H,), with a static input W_xh_static, W_hh (H, H), W_ho
    (H, H), b_o (H,). The state is h.
    """

    type_name = "RNN"
    bottoms = (2, 4)
    tops = (1, 2)
    states = ("h",)
    backward_reads = frozenset({"bottom0", "bottom1", "bottom2", "top0"})

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """W_xh, b_h, W_xh_static, W_hh, W_ho, b_o."""
        square = self.weight((self.size, self.size))
        return [*self.input_specs(bottom), square, square, self.bias((self.size,))]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """h at the start and at all times."""
        time, batch = bottom[0][:2]
        return [*super().saved_specs(bottom), SavedSpec((time, batch, self.size))]

    def unroll(self, run: Run, sums: Array, cont: Array, out: Array) -> list[Array]:
        """The states in their order, then all outputs at once."""
        h, states = run.saved
        recurrent, outward, bias = [blob.data for blob in run.params[-3:]]
        for t in range(len(sums)):
            before = (cont[t][:, None] * h) @ recurrent.T
            run.functions.rnn_step(sums[t], before, states[t])
            h = states[t]
        out[...] = run.xp.tanh(states @ outward.T + bias)
        return [h]

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """All outputs at once, then the states from the last to the first."""
        first, states = run.saved
        recurrent, outward, bias = run.params[-3:]
        cont, y = bottom[1].data, top[0].data
        out_diffs = top_diff(run.xp, top[0]) * (1 - y * y)
        if bias.diff is not None:
            bias.diff[...] = out_diffs.sum(axis=(0, 1))
        if outward.diff is not None:
            outward.diff[...] = _outer(out_diffs, states)
        diffs = out_diffs @ outward.data
        dh = run.xp.zeros_like(first)
        for t in reversed(range(len(states))):
            run.functions.rnn_step_back(states[t], diffs[t], dh, diffs[t])
            dh = (diffs[t] @ recurrent.data) * cont[t][:, None]
        if recurrent.diff is not None:
            recurrent.diff[...] = _outer(diffs, states_before(first, states, cont))
        self.way_back(run, bottom, diffs)


def _outer(diffs: Array, inputs: Array) -> Array:
    """The gradient of weights, summed over times and batch."""
    size = diffs.shape[-1]
    return diffs.reshape(-1, size).T @ inputs.reshape(-1, inputs.shape[-1])
