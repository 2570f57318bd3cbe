"""BatchNorm over the batches of all ranks: one of N batches as one process has it."""

from dataclasses import dataclass

from geeps_caffe.device.array import Array
from geeps_caffe.layers.base import Run


@dataclass(frozen=True)
class Synced:
    """One call of forward or backward, in which ranks add up sums by channel.

    Sums are of float64. Forward exchanges two (values, then squares of the centred
    values), backward one. `run.saved` are deviations (C,) and normalized values.
    """

    run: Run
    eps: float = 0.0
    fraction: float = 0.0

    def forward(self, bottom: Array, top: Array) -> None:
        """top = (bottom - mean) / sqrt(variance + eps), and the stored sums."""
        xp, x, y = self.run.xp, _by_channel(bottom), _by_channel(top)
        here = x.shape[0] * x.shape[2]
        found = self._total(x.sum(axis=(0, 2)), [here])
        count, mean = found[-1], found[:-1] / found[-1]
        centred = x - mean.astype(x.dtype)[:, None]
        variance = self._total((centred * centred).sum(axis=(0, 2))) / count
        self._store(mean, variance * (count / (count - 1) if count > 1 else 1.0))
        deviation = xp.sqrt(variance + self.eps).astype(x.dtype)
        self._saved(0)[...] = deviation
        y[...] = centred / deviation[:, None]
        self._saved(1)[...] = top

    def backward(self, top_diff: Array | None, bottom_diff: Array) -> None:
        """Through the statistics, of which every rank's loss is a function.

        Each rank's gradient is that of its own mean loss, so the sums of all belong to
        the sum of the losses; the mean over the ranks follows with the weights'.
        """
        assert top_diff is not None
        dy, dx = _by_channel(top_diff), _by_channel(bottom_diff)
        y = _by_channel(self._saved(1))
        here = dy.shape[0] * dy.shape[2]
        sums = dy.sum(axis=(0, 2)), (dy * y).sum(axis=(0, 2))
        found = self._total(self.run.xp.concatenate(sums), [here])
        mean, along = (found[:-1] / found[-1]).astype(dy.dtype).reshape(2, -1, 1)
        dx[...] = (dy - mean - along * y) / self._saved(0)[:, None]

    def _saved(self, index: int) -> Array:
        return self.run.saved[index]

    def _total(self, values: Array, more: list[float] | None = None) -> Array:
        xp = self.run.xp
        parts = [xp.asarray(part, xp.float64) for part in (values, more or [])]
        found: Array = xp.asarray(self.run.total(xp.concatenate(parts)))
        return found

    def _store(self, mean: Array, variance: Array) -> None:
        """Add to the decaying sums; every rank does the same to its own."""
        news: tuple[Array | float, ...] = (mean, variance, 1.0)
        for param, new in zip(self.run.params, news, strict=True):
            flat = param.data.reshape(-1)
            flat *= self.fraction
            flat += new


def _by_channel(x: Array) -> Array:
    """(N, C, pixels)."""
    return x.reshape(x.shape[0], 1 if x.ndim == 1 else x.shape[1], -1)
