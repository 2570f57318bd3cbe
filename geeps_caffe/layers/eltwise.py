"""The Eltwise layer."""

import numpy as np

from geeps_caffe.device.array import Array, ArrayModule, Shapes
from geeps_caffe.engines.operations import Sum
from geeps_caffe.layers.base import Blobs, Layer, Run

PROD, SUM, MAX = 0, 1, 2  # EltwiseOp in caffe.proto


class Eltwise(Layer):
    """The weighted sum, the product or the maximum of bottoms of one shape."""

    type_name = "Eltwise"
    bottoms = (2, None)

    def setup(self, bottom: Shapes) -> None:
        """Check coefficients; those of MAX are ignored, as in Caffe."""
        param = self.spec.eltwise_param
        self.kind = param.operation
        given = tuple(param.coeff)
        if given and self.kind == PROD:
            self.fail("coeff is only for operation: SUM; leave it out for PROD")
        if given and len(given) != len(bottom):
            self.fail(
                f"{len(given)} numbers of coeff are given for {len(bottom)} bottoms; "
                "give none, or one for each bottom"
            )
        self.coefficients = given or (1.0,) * len(bottom)

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The shape that all bottoms have."""
        for i, shape in enumerate(bottom):
            if shape != bottom[0]:
                self.fail(
                    f"bottom[{i}] {self.spec.bottom[i]!r} is {shape}, but bottom[0] "
                    f"{bottom[0]}; all must have one shape"
                )
        return [bottom[0]]

    def operation(self) -> Sum | None:
        """SUM is all of one."""
        return Sum(self.coefficients) if self.kind == SUM else None

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """PROD and MAX."""
        if self.kind == SUM:
            super().forward(run, bottom, top)
            return
        combine = run.xp.multiply if self.kind == PROD else run.xp.maximum
        combine(bottom[0].data, bottom[1].data, out=top[0].data)
        for blob in bottom[2:]:
            combine(top[0].data, blob.data, out=top[0].data)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """PROD and MAX."""
        if self.kind == SUM:
            super().backward(run, top, bottom)
            return
        arrays = [blob.data for blob in bottom]
        winner = _winners(run.xp, arrays) if self.kind == MAX else None
        stable = self.spec.eltwise_param.stable_prod_grad
        for i, blob in enumerate(bottom):
            if blob.diff is None:
                continue
            if winner is not None:
                factor = winner == i
            elif stable:
                factor = _product(arrays[:i] + arrays[i + 1 :])
            else:
                factor = _quotient(arrays, i)
            run.xp.multiply(factor, top[0].diff, out=blob.diff)


def _product(arrays: list[Array]) -> Array:
    product = arrays[0].copy()
    for array in arrays[1:]:
        product *= array
    return product


def _quotient(arrays: list[Array], index: int) -> Array:
    """The unstable product of the others: that of all over one, nan where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Array = _product(arrays) / arrays[index]
    return quotient


def _winners(xp: ArrayModule, arrays: list[Array]) -> Array:
    """The index of the largest. Ties: of the first two the second, then the earlier."""
    first, second = arrays[0], arrays[1]
    best = xp.maximum(first, second)
    winner: Array = xp.where(first > second, 0, 1)
    for i, array in enumerate(arrays[2:], start=2):
        winner = xp.where(array > best, i, winner)
        best = xp.maximum(best, array)
    return winner
