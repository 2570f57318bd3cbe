"""The operations that engines offer: what is computed, as plain values.

A layer whose arithmetic matters for speed names one of these. It has two passes,
"forward" and "backward", that read and write *ports*, arrays under these names:

    bottom0, bottom1, ...        inputs of the layer
    top0, top1, ...              outputs
    param0, param1, ...          learnable blobs (weights, then bias)
    saved0, saved1, ...          what forward keeps for backward (masks, workspaces)
    bottom0.diff, param0.diff    gradients that backward writes (never adds to);
                                 absent when nobody asks for them
    top0.diff, ...               gradients that backward reads

The meaning of an operation is its entry in `engines.reference`.
"""

from dataclasses import dataclass
from typing import TypeAlias

Window: TypeAlias = tuple[int, ...]  # one entry per spatial axis


@dataclass(frozen=True)
class Convolution:
    """top0 (N, K, ...) = bottom0 (N, C, ...) * param0 (K, C / group, ...) + param1.

    Spatial output = (in + 2 pad - (dilation (kernel - 1) + 1)) / stride + 1, rounded
    towards 0 before the 1 is added: a kernel may stand over, onto zeros.
    """

    kernel: Window
    stride: Window
    pad: Window
    dilation: Window
    group: int
    bias: bool


@dataclass(frozen=True)
class Deconvolution:
    """The transpose of Convolution; param0 is (C, K / group, ...), param1 (K,)."""

    kernel: Window
    stride: Window
    pad: Window
    dilation: Window
    group: int
    bias: bool


@dataclass(frozen=True)
class InnerProduct:
    """top0 (M, N) = bottom0 (M, K) @ param0.T + param1, axes before `axis` are M.

    param0 is (N, K), or (K, N) when `transpose`. bottom0 and top0 keep their own
    shapes; only the split of their axes matters.
    """

    axis: int
    transpose: bool
    bias: bool


@dataclass(frozen=True)
class MaxPooling:
    """The largest value of each window; ties go to the first in row order.

    A window is clipped to the image. top1, where there is one, is the flat index
    (within the image plane) of the largest value, as a float.
    """

    kernel: Window
    stride: Window
    pad: Window


@dataclass(frozen=True)
class AveragePooling:
    """Window sums over the window's size clipped to the padded image (Caffe's rule)."""

    kernel: Window
    stride: Window
    pad: Window


@dataclass(frozen=True)
class Activation:
    """An element-wise function; may run in place.

    kind: "relu" (alpha: negative slope), "elu" (alpha), "sigmoid", "tanh".
    backward reads top0 alone for every kind when alpha >= 0.
    """

    kind: str
    alpha: float = 0.0


@dataclass(frozen=True)
class LRN:
    """bottom0 / (k + alpha / size * sum of squares over `size` channels) ** beta."""

    size: int
    alpha: float
    beta: float
    k: float


@dataclass(frozen=True)
class LRNWithin:
    """bottom0 / (1 + alpha * mean of squares over size x size pixels) ** beta.

    The last two axes are the image; outside of it are zeros. `size` is odd.
    """

    size: int
    alpha: float
    beta: float


@dataclass(frozen=True)
class Softmax:
    """exp(x - max) over its sum along `axis`."""

    axis: int


@dataclass(frozen=True)
class Sum:
    """top0 = coefficients[0] bottom0 + coefficients[1] bottom1 + ..."""

    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Concat:
    """Bottoms one after the other along `axis`."""

    axis: int


@dataclass(frozen=True)
class Slice:
    """Tops are the parts of bottom0 along `axis` that begin and end at `cuts`.

    The first of `cuts` is 0 and the last the extent of the axis.
    """

    axis: int
    cuts: tuple[int, ...]


@dataclass(frozen=True)
class Crop:
    """top0 is the part of bottom0, in the shape of top0, that begins at `corner`.

    `corner` has a number for each axis. Of bottom1 nothing is read.
    """

    corner: tuple[int, ...]


@dataclass(frozen=True)
class Tile:
    """bottom0 `tiles` times along `axis`."""

    axis: int
    tiles: int


@dataclass(frozen=True)
class BatchNorm:
    """Caffe's, over all axes but 1; param0 mean, param1 variance, param2 factor.

    With `global_stats` the stored sums over param2 are used; else those of the batch,
    and forward updates the params: x = fraction x + batch value (variance unbiased).
    """

    global_stats: bool
    fraction: float
    eps: float


@dataclass(frozen=True)
class Scale:
    """bottom0 times param0 by channel (axis 1), plus param1 where there is a `bias`."""

    bias: bool


@dataclass(frozen=True)
class ScaleInPlace(Scale):
    """The same; it saves a copy of bottom0 for backward, which top0 may overwrite."""


@dataclass(frozen=True)
class ScaledBatchNorm:
    """`norm`, then Scale with params 3 and 4, then max(x, 0) where `relu`."""

    norm: BatchNorm
    bias: bool
    relu: bool


@dataclass(frozen=True)
class Activated:
    """`operation`, then `activation` on its top0. Forward alone."""

    operation: "Operation"
    activation: Activation


Operation: TypeAlias = (
    Convolution
    | Deconvolution
    | InnerProduct
    | MaxPooling
    | AveragePooling
    | Activation
    | LRN
    | LRNWithin
    | Softmax
    | Sum
    | Concat
    | Slice
    | Crop
    | Tile
    | BatchNorm
    | Scale
    | ScaleInPlace
    | ScaledBatchNorm
    | Activated
)
