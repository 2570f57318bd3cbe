"""One step of an LSTM and of a plain recurrent layer, as kernels."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.cuda.functions.code import KernelCode

LSTM, RNN = "lstm_unit.cu", "rnn_unit.cu"


class Steps(KernelCode):
    """See `engines.functions.StepFunctions`."""

    def lstm_step(
        self, gates: Array, before: Array, cont: Array, cells: Array, shown: Array
    ) -> None:
        """A thread for each cell."""
        arrays = (gates, before, cont, cells, shown)
        size = before.shape[-1]
        self.launch(LSTM, "lstm_unit_forward", cells.size, *arrays, size)

    def lstm_step_back(
        self,
        gates: Array,
        before: Array,
        cells: Array,
        diffs: tuple[Array, Array],
        gate_diffs: Array,
        before_diff: Array,
    ) -> None:
        """The same."""
        arrays = (gates, before, cells, *diffs, gate_diffs, before_diff)
        size = before.shape[-1]
        self.launch(LSTM, "lstm_unit_backward", cells.size, *arrays, size)

    def rnn_step(self, sums: Array, recurrent: Array, hidden: Array) -> None:
        """A thread for each element."""
        self.launch(RNN, "rnn_unit_forward", hidden.size, sums, recurrent, hidden)

    def rnn_step_back(
        self, hidden: Array, shown_diff: Array, later_diff: Array, diff: Array
    ) -> None:
        """The same."""
        arrays = (hidden, shown_diff, later_diff, diff)
        self.launch(RNN, "rnn_unit_backward", diff.size, *arrays)
