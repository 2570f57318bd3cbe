"""The logistic function, for layers that need it as a part."""

from geeps_caffe.device.array import Array, ArrayModule


def logistic(xp: ArrayModule, x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * xp.tanh(0.5 * x) + 0.5  # type: ignore[no-any-return]  # xp is Any
