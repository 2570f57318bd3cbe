"""One step of an LSTM and of a plain recurrent layer."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.reference.functions.code import ArrayCode


class Steps(ArrayCode):
    """See `engines.functions.StepFunctions`."""

    def lstm_step(
        self, gates: Array, before: Array, cont: Array, cells: Array, shown: Array
    ) -> None:
        """The logistic function is written with tanh, which can't overflow."""
        xp, size = self.xp, before.shape[-1]
        gates[:, : 3 * size] = 0.5 * xp.tanh(0.5 * gates[:, : 3 * size]) + 0.5
        gates[:, 3 * size :] = xp.tanh(gates[:, 3 * size :])
        i, f, o, g = _parts(gates)
        f *= cont[:, None]
        cells[...] = f * before + i * g
        shown[...] = o * xp.tanh(cells)

    def lstm_step_back(
        self,
        gates: Array,
        before: Array,
        cells: Array,
        diffs: tuple[Array, Array],
        gate_diffs: Array,
        before_diff: Array,
    ) -> None:
        """From the outside in."""
        i, f, o, g = _parts(gates)
        di, df, do, dg = _parts(gate_diffs)
        squashed = self.xp.tanh(cells)
        dc = diffs[0] + diffs[1] * o * (1 - squashed * squashed)
        di[...] = dc * g * i * (1 - i)
        df[...] = dc * before * f * (1 - f)
        do[...] = diffs[1] * squashed * o * (1 - o)
        dg[...] = dc * i * (1 - g * g)
        before_diff[...] = dc * f

    def rnn_step(self, sums: Array, recurrent: Array, hidden: Array) -> None:
        """In its own words."""
        hidden[...] = self.xp.tanh(sums + recurrent)

    def rnn_step_back(
        self, hidden: Array, shown_diff: Array, later_diff: Array, diff: Array
    ) -> None:
        """The slope of tanh is 1 - tanh^2."""
        diff[...] = (shown_diff + later_diff) * (1 - hidden * hidden)


def _parts(gates: Array) -> list[Array]:
    """Views of the gates i, f, o, g."""
    size = gates.shape[-1] // 4
    return [gates[:, k * size : (k + 1) * size] for k in range(4)]
