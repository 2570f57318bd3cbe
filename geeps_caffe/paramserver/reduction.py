"""Several workers' updates as one: their sum, by halves (`tree`), weighted or not."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.tree import add_tree


class Reduction:
    """How to form the mean or sum of the updates of one table and clock.

    Args:
        reduce: `mean` or `sum`.
        weights: one a worker; their worker's share in a mean, as numbers of equal
            kind (such as how many labels its loss counted). A sum ignores them.
    """

    def __init__(self, reduce: str, weights: Sequence[float]) -> None:
        self.factors: tuple[float, ...] | None = None  # None: all 1
        self.scale = 1.0  # of the sum of factor times update
        if reduce == "sum" or len(weights) == 1:
            return
        total = sum(weights)
        if total <= 0 or min(weights) == max(weights):
            self.scale = 1.0 / len(weights)
            return
        self.factors = tuple(weights)
        self.scale = 1.0 / total

    @classmethod
    def of_parts(
        cls, reduce: str, factors: Sequence[float], weights: Sequence[float]
    ) -> "Reduction":
        """How to reduce sums that hosts have made of their workers' updates.

        Args:
            reduce: `mean` or `sum`.
            factors: what each host's sum is yet to be multiplied with.
            weights: the sums of each host's workers' shares.
        """
        made = cls("sum", ())
        if reduce == "sum":
            return made
        total = sum(weights)
        if min(factors) == max(factors):
            made.scale = factors[0] / total
            return made
        made.factors = tuple(factors)
        made.scale = 1.0 / total
        return made

    def add_up(self, updates: Sequence[Array], out: Array, spare: Array) -> Array:
        """The sum, yet to be scaled: in `out`, or the only update itself."""
        if self.factors is None:
            return add_tree(updates, out, (spare,))
        np.multiply(updates[0], self.factors[0], out=out)
        for update, factor in zip(updates[1:], self.factors[1:], strict=True):
            np.multiply(update, factor, out=spare)
            np.add(out, spare, out=out)
        return out


def own_share(reduce: str, workers: int) -> float:
    """What one worker's update counts in the reduced one, if all count alike."""
    return 1.0 if reduce == "sum" else 1.0 / workers
