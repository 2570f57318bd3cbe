"""The cases of the battery: every operation, with every parameter that it has."""

from itertools import pairwise
from math import ceil

from geeps_caffe.engines.operations import (
    LRN,
    Activated,
    Activation,
    AveragePooling,
    BatchNorm,
    Concat,
    Convolution,
    Crop,
    Deconvolution,
    InnerProduct,
    LRNWithin,
    MaxPooling,
    Scale,
    ScaledBatchNorm,
    ScaleInPlace,
    Slice,
    Softmax,
    Sum,
    Tile,
)
from tests.engines.battery import Case

ONEDNN = frozenset({"onednn"})


def _each(value, axes):
    return value if isinstance(value, tuple) else (value,) * axes


def _name(*parts):
    texts = ("x".join(map(str, p)) if isinstance(p, tuple) else str(p) for p in parts)
    return "-".join(text for text in texts if text)


def convolution(bottom, outputs, kernel, stride=1, pad=0, dilation=1, group=1, bias=1):
    """A convolution over the last `len(kernel)` axes of `bottom`."""
    axes = len(kernel)
    stride, pad, dilation = (_each(v, axes) for v in (stride, pad, dilation))
    windows = zip(bottom[-axes:], kernel, stride, pad, dilation, strict=True)
    spatial = [
        max(0, i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d in windows
    ]
    channels = bottom[-axes - 1]
    shapes = {
        "bottom0": bottom,
        "param0": (outputs, channels // group, *kernel),
        "param1": (outputs,),
        "top0": (*bottom[: -axes - 1], outputs, *spatial),
    }
    if not bias:
        del shapes["param1"]
    operation = Convolution(kernel, stride, pad, dilation, group, bool(bias))
    name = _name("conv", bottom, outputs, kernel, stride, pad, dilation, group, bias)
    return Case(name, operation, shapes)


def deconvolution(
    bottom, outputs, kernel, stride=1, pad=0, dilation=1, group=1, bias=1
):
    """The transpose of a convolution."""
    axes = len(kernel)
    stride, pad, dilation = (_each(v, axes) for v in (stride, pad, dilation))
    windows = zip(bottom[-axes:], kernel, stride, pad, dilation, strict=True)
    spatial = [s * (i - 1) + d * (k - 1) + 1 - 2 * p for i, k, s, p, d in windows]
    channels = bottom[-axes - 1]
    shapes = {
        "bottom0": bottom,
        "param0": (channels, outputs // group, *kernel),
        "param1": (outputs,),
        "top0": (*bottom[: -axes - 1], outputs, *spatial),
    }
    if not bias:
        del shapes["param1"]
    operation = Deconvolution(kernel, stride, pad, dilation, group, bool(bias))
    name = _name("deconv", bottom, outputs, kernel, stride, pad, dilation, group, bias)
    return Case(name, operation, shapes)


def inner_product(bottom, outputs, axis=1, transpose=False, bias=True):
    """`bottom` against a matrix of weights."""
    inputs = 1
    for extent in bottom[axis:]:
        inputs *= extent
    shapes = {
        "bottom0": bottom,
        "param0": (inputs, outputs) if transpose else (outputs, inputs),
        "param1": (outputs,),
        "top0": (*bottom[:axis], outputs),
    }
    if not bias:
        del shapes["param1"]
    operation = InnerProduct(axis, transpose, bias)
    name = _name("ip", bottom, outputs, axis, "transposed" * transpose, bias)
    return Case(name, operation, shapes)


def _pooled(bottom, kernel, stride, pad):
    """Caffe's number of windows: rounded up, but none that starts in right padding."""
    spatial = []
    for i, k, s, p in zip(bottom[-len(kernel) :], kernel, stride, pad, strict=True):
        windows = ceil((i + 2 * p - k) / s) + 1
        if p and (windows - 1) * s >= i + p:
            windows -= 1
        spatial.append(windows)
    return (*bottom[: -len(kernel)], *spatial)


def pooling(kind, bottom, kernel, stride=1, pad=0, ties=False, mask=False, no=()):
    """Max or average pooling with Caffe's edges."""
    axes = len(kernel)
    stride, pad = _each(stride, axes), _each(pad, axes)
    top = _pooled(bottom, kernel, stride, pad)
    shapes = {"bottom0": bottom, "top0": top} | ({"top1": top} if mask else {})
    name = _name(kind.__name__, bottom, kernel, stride, pad, "ties" * ties)
    operation = kind(kernel, stride, pad)
    return Case(name + "-mask" * mask, operation, shapes, ties, frozenset(no))


def same_shape(operation, bottom, no=()):
    """One bottom and a top of its shape."""
    shapes = {"bottom0": bottom, "top0": bottom}
    values = "-".join(str(v) for v in vars(operation).values())
    name = _name(type(operation).__name__, bottom, values)
    return Case(name, operation, shapes, declined=frozenset(no))


def batch_norm(bottom, global_stats, fraction=0.999, eps=1e-5):
    """With its three params."""
    channels = bottom[1]
    shapes = {
        "bottom0": bottom,
        "param0": (channels,),
        "param1": (channels,),
        "param2": (1,),
        "top0": bottom,
    }
    name = _name("bn", bottom, global_stats, fraction, eps)
    return Case(name, BatchNorm(global_stats, fraction, eps), shapes)


def scaled_batch_norm(bottom, global_stats, bias=True, relu=True, fraction=0.999):
    """A batch_norm with the params of a Scale behind its own."""
    norm = batch_norm(bottom, global_stats, fraction, 1e-4)
    more = {f"param{i}": (bottom[1],) for i in (3, 4)[: 1 + bias]}
    operation = ScaledBatchNorm(norm.operation, bias, relu)
    name = _name("scaled", norm.name, "bias" * bias, "relu" * relu)
    # A GPU has a kernel for each of the parts.
    no = frozenset({"cuda"})
    return Case(name, operation, norm.shapes | more, declined=no)


def scale(bottom, bias=True, kind=Scale):
    """By channel."""
    params = {f"param{i}": (bottom[1],) for i in range(1 + bias)}
    shapes = {"bottom0": bottom, "top0": bottom} | params
    name = _name(kind.__name__, bottom, "bias" * bias)
    return Case(name, kind(bias), shapes)


def activated(case, kind="relu", alpha=0.0, no=()):
    """Another case and a function of its top."""
    operation = Activated(case.operation, Activation(kind, alpha))
    name = _name(case.name, kind, alpha)
    return Case(name, operation, case.shapes, declined=frozenset(no))


def weighted_sum(coefficients, bottom):
    """As many bottoms as coefficients."""
    shapes = {f"bottom{i}": bottom for i in range(len(coefficients))}
    operation = Sum(tuple(map(float, coefficients)))
    return Case(
        _name("sum", coefficients, bottom), operation, shapes | {"top0": bottom}
    )


def concat(axis, *bottoms):
    """Bottoms that differ along `axis` alone."""
    top = list(bottoms[0])
    top[axis] = sum(shape[axis] for shape in bottoms)
    shapes = {f"bottom{i}": shape for i, shape in enumerate(bottoms)}
    operation = Concat(axis)
    return Case(
        _name("concat", axis, *bottoms), operation, shapes | {"top0": tuple(top)}
    )


def sliced(axis, bottom, *points):
    """A top for each part between the points."""
    cuts = (0, *points, bottom[axis])
    shapes = {"bottom0": bottom}
    for i, (begin, end) in enumerate(pairwise(cuts)):
        shapes[f"top{i}"] = (*bottom[:axis], end - begin, *bottom[axis + 1 :])
    name = _name("slice", axis, bottom, cuts)
    return Case(name, Slice(axis, cuts), shapes, declined=ONEDNN)


def crop(bottom, corner, top):
    """A window of `bottom`."""
    name = _name("crop", bottom, corner, top)
    return Case(name, Crop(corner), {"bottom0": bottom, "top0": top}, declined=ONEDNN)


def tile(axis, tiles, bottom):
    """Copies along an axis."""
    top = (*bottom[:axis], tiles * bottom[axis], *bottom[axis + 1 :])
    shapes = {"bottom0": bottom, "top0": top}
    name = _name("tile", axis, tiles, bottom)
    return Case(name, Tile(axis, tiles), shapes, declined=ONEDNN)


CONVOLUTIONS = [
    convolution((2, 1, 8, 8), 20, (5, 5)),
    convolution((2, 3, 11, 9), 16, (3, 3), 2, 1),
    convolution((1, 3, 23, 23), 96, (11, 11), 4),
    convolution((2, 5, 7, 7), 17, (3, 3), 1, 1),
    convolution((2, 17, 6, 5), 5, (1, 1)),
    convolution((2, 20, 12, 12), 50, (5, 5)),
    convolution((2, 20, 12, 14), 50, (3, 7), 1, (1, 2)),
    convolution((2, 20, 7, 7), 50, (7, 7)),
    convolution((1, 20, 4, 4), 50, (7, 7), 1, 3, bias=0),
    convolution((2, 16, 7, 7), 32, (3, 3), 1, 1, bias=0),
    convolution((2, 32, 9, 8), 64, (1, 1), 2),
    convolution((1, 64, 6, 6), 1, (3, 3), 1, 1),
    convolution((2, 32, 7, 7), 32, (3, 3), 1, 1, group=2),
    convolution((2, 6, 7, 7), 9, (3, 3), 1, 1, group=3),
    convolution((2, 5, 7, 7), 5, (3, 3), 1, 1, group=5),
    convolution((2, 32, 7, 7), 32, (3, 3), 2, 1, group=32, bias=0),
    convolution((2, 8, 7, 7), 16, (3, 3), 1, 1, group=8),
    convolution((2, 4, 11, 12), 6, (3, 3), 1, 2, 2, 2),
    convolution((2, 16, 13, 13), 16, (3, 3), 1, 4, 4),
    convolution((2, 7, 9, 12), 10, (3, 5), (2, 1), (1, 2)),
    convolution((2, 3, 9, 9), 8, (2, 4), (1, 3), (0, 3), (2, 1)),
    convolution((3, 4, 10), 6, (3,), 2, 1),
    convolution((2, 16, 19), 32, (5,)),
    convolution((5, 48, 7), 24, (3,), 1, 2, group=2),
    convolution((2, 6, 11), 9, (3,), 2, 1, 2, group=3, bias=0),
    convolution((2, 3, 5, 6, 7), 4, (3, 3, 3), (1, 2, 1), 1),
    convolution((2, 4, 4, 5, 6), 6, (3, 3, 3), 1, 1, group=2),
    convolution((1, 32, 4, 5, 4), 48, (3, 1, 3), 1, (1, 0, 1), group=2),
    convolution((1, 16, 5, 5, 5), 16, (2, 3, 2)),
    convolution((2, 3, 4, 5, 6), 7, (3, 3)),
    convolution((4, 6, 6), 7, (3, 3)),
    convolution((2, 3, 8, 8), 4, (3, 3), 1, 3),
    convolution((1, 16, 4, 4), 16, (7, 7), 1, 3),
    convolution((2, 16, 4, 6), 32, (5, 3), 2),  # stands over the image by one row
    convolution((2, 3, 3, 4), 4, (5, 7), 4, 0),
]

DECONVOLUTIONS = [
    deconvolution((2, 3, 5, 6), 4, (3, 3)),
    deconvolution((2, 21, 4, 4), 21, (4, 4), 2, 1, group=21, bias=0),
    deconvolution((2, 16, 5, 5), 32, (4, 4), 2, 1),
    deconvolution((2, 6, 5, 5), 9, (3, 3), 2, 1, group=3),
    deconvolution((2, 32, 5, 5), 32, (3, 3), 1, 1, group=2, bias=0),
    deconvolution((1, 5, 4, 7), 17, (3, 5), (2, 3), (1, 2)),
    deconvolution((2, 4, 5, 5), 3, (3, 3), 2, 1, 2),
    deconvolution((2, 4, 6), 5, (4,), 2, 1),
    deconvolution((2, 24, 7), 4, (2,), 1, 1, group=2, bias=0),
    deconvolution((1, 3, 3, 4, 5), 4, (3, 2, 3), 2),
    deconvolution((2, 4, 3, 4, 3), 6, (3, 2, 3), (2, 1, 1), 1, group=2),
    deconvolution((2, 3, 4, 5, 6), 7, (3, 3)),
]

INNER_PRODUCTS = [
    inner_product((4, 7), 5),
    inner_product((3, 20, 4, 4), 50),
    inner_product((2, 16, 3, 3), 64),
    inner_product((1, 33), 17, bias=False),
    inner_product((64, 500), 10),
    inner_product((2, 256, 3, 3), 300),
    inner_product((3, 5, 8), 6, axis=2),
    inner_product((3, 5, 8), 6, axis=0),
    inner_product((4, 30), 17, transpose=True),
    inner_product((2, 16, 3, 3), 64, transpose=True, bias=False),
    inner_product((2, 128), 1),
]

POOLINGS = [
    pooling(MaxPooling, (2, 5, 8, 8), (2, 2), 2),
    pooling(MaxPooling, (2, 16, 7, 7), (3, 3), 2),
    pooling(MaxPooling, (2, 16, 8, 8), (3, 3), 2),
    pooling(MaxPooling, (2, 20, 7, 9), (3, 2), (2, 1), (1, 0)),
    pooling(MaxPooling, (1, 32, 6, 6), (3, 3), 1, 1),
    pooling(MaxPooling, (2, 3, 6, 6), (3, 3), 1, 1, ties=True),
    pooling(MaxPooling, (2, 16, 9, 9), (3, 3), 2, 1, ties=True),
    pooling(MaxPooling, (2, 17, 9, 9), (4, 4), 3, 2, ties=True),
    pooling(MaxPooling, (2, 4, 6, 6), (6, 6)),
    pooling(MaxPooling, (2, 4, 9), (3,), 2),
    pooling(MaxPooling, (1, 4, 5, 6, 7), (3, 2, 3), 2),
    pooling(MaxPooling, (4, 6, 6), (3, 3), 2),
    pooling(MaxPooling, (2, 3, 6, 6), (3, 3), 2, mask=True, no=ONEDNN),
    pooling(MaxPooling, (2, 3, 6, 6), (2, 2), 3, no=ONEDNN),
    pooling(AveragePooling, (2, 5, 8, 8), (2, 2), 2),
    pooling(AveragePooling, (2, 16, 8, 8), (3, 3), 2),
    pooling(AveragePooling, (2, 20, 7, 7), (7, 7)),
    pooling(AveragePooling, (2, 16, 7, 7), (3, 3), 1, 1),
    pooling(AveragePooling, (2, 3, 7, 9), (3, 2), (2, 1), (1, 0)),
    pooling(AveragePooling, (2, 3, 7, 7), (3, 3), 2, 1),
    pooling(AveragePooling, (2, 17, 8, 8), (3, 3), 2, 1),
    pooling(AveragePooling, (2, 3, 9), (3,), 2),
    pooling(AveragePooling, (1, 4, 5, 6, 7), (3, 2, 3), 2),
    pooling(AveragePooling, (2, 3, 8, 8), (5, 5), 4, 1),
    pooling(AveragePooling, (2, 3, 8, 9), (3, 3), 2, (0, 1)),
]

_SHAPES = [(2, 16, 5, 5), (3, 5, 4, 7), (1, 20, 3, 3), (4, 7), (9,), (2, 3, 4, 5, 6)]

ACTIVATIONS = [
    same_shape(Activation(kind, alpha), shape)
    for kind, alpha in (
        ("relu", 0.0),
        ("relu", 0.1),
        ("elu", 1.0),
        ("elu", 0.3),
        ("sigmoid", 0.0),
        ("tanh", 0.0),
    )
    for shape in _SHAPES
] + [
    same_shape(Activation("relu", -0.2), (2, 16, 5, 5), ONEDNN),
    same_shape(Activation("elu", -0.2), (2, 3), ONEDNN),
]

LRNS = [
    same_shape(LRN(5, 1e-4, 0.75, 1.0), (2, 32, 5, 7)),
    same_shape(LRN(5, 0.8, 0.75, 2.0), (2, 96, 4, 3)),
    same_shape(LRN(3, 0.5, 0.75, 1.0), (2, 16, 4, 4)),
    same_shape(LRN(5, 0.5, 0.5, 1.0), (2, 16, 4, 4)),
    same_shape(LRN(5, 0.5, 0.75, 1.0), (2, 7, 4, 4)),
    same_shape(LRN(9, 0.5, 0.75, 1.0), (1, 3, 4, 4)),
    same_shape(LRN(1, 0.5, 0.9, 1.0), (2, 5, 3, 7)),
    same_shape(LRN(5, 0.5, 0.75, 1.0), (4, 12)),
    same_shape(LRN(3, 0.5, 0.6, 1.0), (2, 20, 2, 3, 4)),
    same_shape(LRN(3, 0.5, 1.0, 1.0), (2, 20, 3, 4)),
    same_shape(LRN(3, 0.5, 0.25, 1.5), (2, 20, 3, 4)),
    same_shape(LRN(3, 0.5, 1.25, 1.0), (2, 20, 3, 4)),
    same_shape(LRNWithin(3, 0.5, 0.75), (2, 32, 6, 7)),
    same_shape(LRNWithin(5, 0.05, 0.6), (2, 16, 3, 9)),
    same_shape(LRNWithin(3, 0.5, 0.75), (2, 5, 6, 4)),
    same_shape(LRNWithin(3, 0.5, 0.5), (2, 32, 6, 4)),
    same_shape(LRNWithin(3, 0.5, 2.0), (2, 5, 6, 4)),
    same_shape(LRNWithin(1, 0.5, 0.75), (1, 20, 2, 3)),
]

SOFTMAXES = [
    same_shape(Softmax(1), (4, 10)),
    same_shape(Softmax(1), (2, 21, 5, 6)),
    same_shape(Softmax(0), (5, 3, 4)),
    same_shape(Softmax(3), (2, 3, 4, 17)),
    same_shape(Softmax(2), (2, 3, 4, 5)),
    same_shape(Softmax(0), (9,)),
    same_shape(Softmax(1), (3, 1000)),
]

SUMS = [
    weighted_sum((1, 1), (2, 16, 5, 5)),
    weighted_sum((1, -1), (2, 5, 3, 3)),
    weighted_sum((0.5, 2, -3), (3, 20, 4, 4)),
    weighted_sum((2,), (4, 7)),
    weighted_sum((1, 0, 1, 1, 1), (9,)),
    weighted_sum((1, 1, 1, 1), (2, 20, 3, 4)),
    weighted_sum((1,) * 31, (2, 16, 3)),
]

CONCATS = [
    concat(1, (2, 16, 4, 4), (2, 32, 4, 4)),
    concat(1, (2, 5, 4, 4), (2, 3, 4, 4), (2, 17, 4, 4)),
    concat(1, (2, 20, 3, 3), (2, 32, 3, 3)),
    concat(1, (2, 16, 3, 3), (2, 20, 3, 3)),
    concat(0, (2, 16, 3, 3), (1, 16, 3, 3)),
    concat(2, (2, 17, 3, 3), (2, 17, 1, 3)),
    concat(1, (4, 7), (4, 9)),
    concat(1, (2, 3)),
    concat(1, *[(1, 2)] * 12),
]

SLICES = [
    sliced(1, (2, 16, 4, 5), 3, 9),
    sliced(0, (5, 3, 2), 1),
    sliced(2, (2, 3, 7, 2), 3),
    sliced(1, (4, 9)),
    sliced(3, (2, 3, 2, 6), 1, 2, 5),
]

CROPS = [
    crop((2, 3, 6, 7), (0, 0, 1, 2), (2, 3, 4, 5)),
    crop((3, 5, 6, 7), (1, 2, 0, 3), (1, 2, 6, 4)),
    crop((4, 9), (0, 8), (4, 1)),
    crop((9,), (0,), (9,)),
    crop((2, 3, 4, 5, 6), (0, 0, 1, 1, 1), (2, 2, 3, 2, 4)),
]

TILES = [
    tile(1, 5, (3, 1, 4)),
    tile(0, 2, (2, 3, 4)),
    tile(2, 3, (2, 3, 4)),
    tile(1, 1, (4, 7)),
    tile(0, 4, (9,)),
]

BATCH_NORMS = [
    batch_norm((4, 16, 5, 5), False),
    batch_norm((4, 16, 5, 5), True),
    batch_norm((2, 5, 4, 7), False, 0.9, 1e-3),
    batch_norm((2, 20, 3, 3), False, 0.95),
    batch_norm((2, 20, 3, 3), True),
    batch_norm((8, 7), False),
    batch_norm((8, 7), True),
    batch_norm((3, 4, 6), False),
    batch_norm((2, 17, 2, 3, 4), False),
]

SCALES = [
    scaled_batch_norm((4, 16, 5, 5), False),
    scaled_batch_norm((4, 16, 5, 5), True),
    scaled_batch_norm((2, 20, 3, 3), False, relu=False),
    scaled_batch_norm((2, 5, 4, 7), True, bias=False),
    scaled_batch_norm((2, 5, 4, 7), False, bias=False, relu=False, fraction=0.9),
    scaled_batch_norm((8, 7), False),
    scaled_batch_norm((2, 17, 2, 3, 4), False),
    scale((2, 16, 5, 5)),
    scale((2, 20, 3, 3), bias=False),
    scale((8, 7)),
    scale((3, 4, 6), bias=False),
]

SCALES_IN_PLACE = [
    scale((2, 16, 5, 5), kind=ScaleInPlace),
    scale((2, 20, 3, 3), bias=False, kind=ScaleInPlace),
    scale((8, 7), kind=ScaleInPlace),
]

#: Forward alone.
ACTIVATED = [
    *map(activated, [*CONVOLUTIONS, *INNER_PRODUCTS]),
    *(activated(case) for case in DECONVOLUTIONS),
    activated(CONVOLUTIONS[3], "elu", 0.5),
    activated(CONVOLUTIONS[3], "relu", 0.1),
    activated(CONVOLUTIONS[5], "tanh"),
    activated(CONVOLUTIONS[5], "sigmoid", no=ONEDNN),
    activated(SUMS[0]),
    activated(SUMS[5]),
    activated(SUMS[1], no=ONEDNN),
]

CASES = [
    *CONVOLUTIONS,
    *DECONVOLUTIONS,
    *INNER_PRODUCTS,
    *POOLINGS,
    *ACTIVATIONS,
    *LRNS,
    *SOFTMAXES,
    *SUMS,
    *CONCATS,
    *SLICES,
    *CROPS,
    *TILES,
    *BATCH_NORMS,
    *SCALES,
    *SCALES_IN_PLACE,
]
