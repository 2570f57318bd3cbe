"""What LSTM and RNN have in common: bottoms, state between steps, the way in.

Caffe unrolls these layers to nets; here each is one layer whose loop over time works
on a whole batch. Blobs, their order and all gradients are those of the nets.
"""

from abc import abstractmethod
from typing import Any, ClassVar

from geeps_caffe.device.array import Array, Shape, Shapes, count
from geeps_caffe.layers.base import Blobs, Layer, ParamSpec, Run, SavedSpec, Setting
from geeps_caffe.layers.fillers import learnable


class Recurrent(Layer):
    """bottom[0] x (T, N, ...), bottom[1] cont (T, N), top[0] (T, N, num_output).

    cont is 0 where a sequence starts, 1 where it goes on. Then, if given, a static
    input (N, ...) seen at each time. With expose_hidden the states at the start are
    the last bottoms and those at the end the last tops, (1, N, num_output); Caffe
    passes no gradients through them. Else the states at the end of a forward are
    those at the start of the next, in `carried`: by the names in `states`, arrays of
    shape (N, num_output), empty before the first forward.
    """

    states: ClassVar[tuple[str, ...]] = ()
    gates: ClassVar[int] = 1  # rows of the input weights, in num_output
    no_gradient = frozenset({1})

    def __init__(self, spec: Any, setting: Setting | None = None) -> None:
        super().__init__(spec, setting)
        self.carried: dict[str, Array] = {}
        self.size = int(spec.recurrent_param.num_output)
        self.exposed = len(self.states) * spec.recurrent_param.expose_hidden
        self.static = len(spec.bottom) > 2 + self.exposed

    def setup(self, bottom: Shapes) -> None:
        """Check counts and shapes."""
        if self.size < 1:
            self.fail("recurrent_param num_output must be positive")
        self._check_counts(len(bottom), len(self.spec.top))
        self._check_shapes(bottom)

    def _check_shapes(self, bottom: Shapes) -> None:
        x = bottom[0]
        if len(x) < 2 or bottom[1] != x[:2]:
            self.fail(
                f"bottom[0] has shape {x} and bottom[1] {bottom[1]}; expected "
                "(T, N, ...) and (T, N)"
            )
        if self.static and bottom[2][:1] != x[1:2]:
            self.fail(
                f"bottom[2], the static input, has shape {bottom[2]}; expected (N, "
                f"...) with N {x[1]} as in bottom[0]"
            )
        for i in range(len(bottom) - self.exposed, len(bottom)):
            if bottom[i] != (1, x[1], self.size):
                self.fail(
                    f"bottom[{i}], a state, has shape {bottom[i]}; expected "
                    f"{(1, x[1], self.size)}"
                )

    def _check_counts(self, bottoms: int, tops: int) -> None:
        least = 2 + self.exposed
        if not (least <= bottoms <= least + 1 and tops == 1 + self.exposed):
            self.fail(
                f"{bottoms} bottoms and {tops} tops; it takes {least} bottoms, or "
                f"{least + 1} with a static input, and {1 + self.exposed} tops"
            )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The outputs of all times, then the states at the end."""
        self._check_shapes(bottom)  # behind a Filter they may be shorter in a pass
        time, batch = bottom[0][:2]
        return [(time, batch, self.size)] + [(1, batch, self.size)] * self.exposed

    def input_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """The first blobs: input weights, bias, weights of the static input."""
        rows = self.gates * self.size
        specs = [self.weight((rows, count(bottom[0][2:]))), self.bias((rows,))]
        if self.static:
            specs.append(self.weight((rows, count(bottom[2][1:]))))
        return specs

    def weight(self, shape: Shape) -> ParamSpec:
        """A blob with the weight filler."""
        return learnable(
            self, "weights", shape, self.spec.recurrent_param.weight_filler
        )

    def bias(self, shape: Shape) -> ParamSpec:
        """A blob with the bias filler."""
        return learnable(self, "bias", shape, self.spec.recurrent_param.bias_filler)

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """The states at the start; subclasses add theirs."""
        return [SavedSpec((bottom[0][1], self.size)) for _ in self.states]

    # -- run -------------------------------------------------------------------

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Fetch the states, run through time, and leave them."""
        states = self._start(run, bottom)
        for saved, state in zip(run.saved, states, strict=False):
            saved[...] = state
        ends = self.unroll(run, self._way_in(run, bottom), bottom[1].data, top[0].data)
        for i, (name, end) in enumerate(zip(self.states, ends, strict=True)):
            if self.exposed:
                top[1 + i].data[0] = end
            else:
                self.carried[name] = end.copy()

    @abstractmethod
    def unroll(self, run: Run, sums: Array, cont: Array, out: Array) -> list[Array]:
        """Write `out` from the input's `sums` (T, N, rows); the states at the end."""

    def _start(self, run: Run, bottom: Blobs) -> list[Array]:
        if self.exposed:
            return [blob.data[0] for blob in bottom[-self.exposed :]]
        shape = (bottom[0].shape[1], self.size)
        zeros = run.xp.zeros(shape, bottom[0].data.dtype)
        states = [self.carried.get(name, zeros) for name in self.states]
        return [state if state.shape == shape else zeros for state in states]

    def _way_in(self, run: Run, bottom: Blobs) -> Array:
        """Input weights times input at all times, bias and static input added."""
        x = bottom[0].data
        weights, bias = run.params[0].data, run.params[1].data
        sums = x.reshape(-1, weights.shape[1]) @ weights.T
        sums = sums.reshape(*x.shape[:2], -1)
        sums += bias
        if self.static:
            weights = run.params[2].data
            sums += bottom[2].data.reshape(-1, weights.shape[1]) @ weights.T
        return sums

    def way_back(self, run: Run, bottom: Blobs, diffs: Array) -> None:
        """The gradients behind the sums, from their diffs (T, N, rows)."""
        _linear_back(run, 0, bottom, 0, diffs.reshape(-1, diffs.shape[-1]))
        if run.params[1].diff is not None:
            run.params[1].diff[...] = diffs.sum(axis=(0, 1))
        if self.static:
            _linear_back(run, 2, bottom, 2, diffs.sum(axis=0))
        for blob in bottom[len(bottom) - self.exposed :]:
            if blob.diff is not None:
                blob.diff[...] = 0


def _linear_back(run: Run, param: int, bottom: Blobs, i: int, diffs: Array) -> None:
    """Gradients of the product of a bottom, as rows, and a param."""
    weights, blob = run.params[param], bottom[i]
    if weights.diff is not None:
        weights.diff[...] = diffs.T @ blob.data.reshape(len(diffs), -1)
    if blob.diff is not None:
        blob.diff.reshape(len(diffs), -1)[...] = diffs @ weights.data


def states_before(first: Array, states: Array, cont: Array) -> Array:
    """The state that each time started from, (T, N, H): 0 where cont is 0."""
    before = states.copy()
    before[1:] = states[:-1]
    before[0] = first
    before *= cont[:, :, None]
    return before
