"""The arithmetic that layers' own code asks of an engine, besides its array module.

Some layers can't be an operation: a loss refuses labels and agrees with other workers
on a divisor, a dropout mask depends on the iteration, a recurrent layer carries state.
Their forward and backward stay code, but what is slow in it has a name here. The plain
meaning of each function is its entry in `engines.reference.functions`.

Scores are (outer, classes, inner) and labels (outer, inner), whole numbers as floats.
`ignored` names labels that do not count; None where all do. A loss's slope is times
`diff`, one number where the arrays are, over `normalizer`.
"""

from dataclasses import dataclass
from typing import Protocol

from geeps_caffe.device.array import Array
from geeps_caffe.device.philox import Stream


@dataclass(frozen=True)
class LabelLosses:
    """What the probabilities of a batch's labels cost.

    `total` is the sum over the `counted` items; with `wrong`, some label names no
    class and the other numbers mean nothing. `underflow`: a probability was below
    the least float of 32 bits, and taken for that.
    """

    total: float
    counted: int
    wrong: bool
    underflow: bool


@dataclass(frozen=True)
class Hits:
    """How many items count, and how many of them are hits; `wrong` as LabelLosses."""

    hits: int
    counted: int
    wrong: bool


class LossFunctions(Protocol):
    """Softmax, sigmoid and what they are compared with."""

    def softmax(self, scores: Array, out: Array) -> None:
        """Exp(x - max) over its sum, by classes; `out` may be `scores`."""
        ...

    def label_losses(
        self,
        probabilities: Array,
        labels: Array,
        ignored: int | None,
        weights: tuple[float, ...],
    ) -> LabelLosses:
        """-log p of each item's class, times the class's weight where there are any."""
        ...

    def label_slopes(
        self,
        probabilities: Array,
        labels: Array,
        ignored: int | None,
        weights: tuple[float, ...],
        diff: Array,
        normalizer: float,
        out: Array,
    ) -> None:
        """P, less 1 at the item's class; 0 for items that do not count."""
        ...

    def logistic_losses(
        self, scores: Array, targets: Array, ignored: int | None
    ) -> tuple[float, int]:
        """-t log p - (1 - t) log(1 - p), p = sigmoid(score): the sum, and the count."""
        ...

    def logistic_slopes(
        self,
        scores: Array,
        targets: Array,
        ignored: int | None,
        diff: Array,
        normalizer: float,
        out: Array,
    ) -> None:
        """Sigmoid(score) - target; 0 for targets that do not count."""
        ...

    def label_ranks(self, scores: Array, labels: Array, ignored: int | None) -> Array:
        """How many scores are no worse than the label's: float, (outer, inner).

        1 is the best; more than all classes where the label's score is nan; 0 for
        items that do not count, and -1 for labels that name no class.
        """
        ...

    def count_hits(self, ranks: Array, top_k: int) -> Hits:
        """Ranks of at most `top_k`."""
        ...


class StepFunctions(Protocol):
    """One step of recurrent layers; arrays are (N, size), `cont` (N,)."""

    def lstm_step(
        self, gates: Array, before: Array, cont: Array, cells: Array, shown: Array
    ) -> None:
        """Cells = f before + i g; shown = o tanh(cells).

        `gates` (N, 4 size) holds the sums of i, f, o, g and is overwritten by their
        values; f is multiplied with `cont`, which is 0 where a sequence starts.
        """
        ...

    def lstm_step_back(
        self,
        gates: Array,
        before: Array,
        cells: Array,
        diffs: tuple[Array, Array],
        gate_diffs: Array,
        before_diff: Array,
    ) -> None:
        """Write the diffs of the gates' sums, and of the cells before the step.

        `diffs` are those of cells and shown; `before_diff` may be the first of them.
        The slope of f is f (1 - f), cont included, which is Caffe's and exact where
        cont is 0 or 1.
        """
        ...

    def rnn_step(self, sums: Array, recurrent: Array, hidden: Array) -> None:
        """Hidden = tanh(sums + recurrent)."""
        ...

    def rnn_step_back(
        self, hidden: Array, shown_diff: Array, later_diff: Array, diff: Array
    ) -> None:
        """(shown_diff + later_diff) (1 - hidden^2); `diff` may be either."""
        ...


class OtherFunctions(Protocol):
    """Coins, rows by number, and pictures."""

    def dropout(
        self,
        stream: Stream,
        x: Array,
        dropped: int,
        factor: float,
        kept: Array,
        y: Array,
    ) -> None:
        """Kept = bits >= dropped; y = x kept factor. y may be x; `kept` is bool."""
        ...

    def dropout_back(self, dy: Array, kept: Array, factor: float, dx: Array) -> None:
        """Dx = dy kept factor; dx may be dy."""
        ...

    def gather_rows(self, table: Array, index: Array, rows: Array) -> None:
        """rows[i] = table[index[i]]; the index is int64 and in range."""
        ...

    def scatter_add_rows(self, rows: Array, index: Array, table: Array) -> None:
        """Table = 0, then table[index[i]] += rows[i] in the order of i."""
        ...

    def transform(
        self,
        pixels: Array,
        numbers: Array,
        mean: Array,
        mean_steps: tuple[int, int],
        scale: float,
        out: Array,
    ) -> None:
        """Out (N, C, H, W) = (pixel - mean) scale, of uint8 and float32 values.

        Where a record's values are in `pixels` say its `numbers` (int64, see
        `data.packed`); in `mean` these too, with the steps by channel and by row.
        """
        ...


class Functions(LossFunctions, StepFunctions, OtherFunctions, Protocol):
    """All of them."""
