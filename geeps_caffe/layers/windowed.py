"""Windows of convolutions and poolings: how nets write them, and what they result in.

Sizes are those of Caffe: convolutions round towards 0 before they add the first window,
poolings up unless told otherwise.
"""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.operations import Window
from geeps_caffe.layers.base import Layer


@dataclass(frozen=True)
class Geometry:
    """One number per spatial axis."""

    kernel: Window
    stride: Window
    pad: Window
    dilation: Window

    def __str__(self) -> str:
        """As messages have it, "kernel 3x3, stride 2x2, pad 0x0, dilation 1x1"."""
        fields = ("kernel", "stride", "pad", "dilation")
        return ", ".join(
            f"{name} {'x'.join(map(str, getattr(self, name)))}" for name in fields
        )

    @property
    def spans(self) -> Window:
        """The pixels from a kernel's first to its last point."""
        pairs = zip(self.kernel, self.dilation, strict=True)
        return tuple(d * (k - 1) + 1 for k, d in pairs)


def read_convolution(layer: Layer, param: Any, axes: int) -> Geometry:
    """The window of a ConvolutionParameter over `axes` spatial axes."""
    geometry = Geometry(
        kernel=_per_axis(layer, param, "kernel_size", axes, None),
        stride=_per_axis(layer, param, "stride", axes, 1),
        pad=_per_axis(layer, param, "pad", axes, 0),
        dilation=_per_axis(layer, param, "dilation", axes, 1),
    )
    for name in ("kernel", "stride", "dilation"):
        require_positive(layer, name, getattr(geometry, name))
    return geometry


def read_pooling(layer: Layer, param: Any, image: Shape) -> Geometry:
    """The window of a PoolingParameter; all of the image with global_pooling."""
    kernel = _single(layer, param, "kernel_size", None)
    stride = _single(layer, param, "stride", (1, 1))
    pad = _single(layer, param, "pad", (0, 0))
    if param.global_pooling:
        if kernel is not None or stride != (1, 1) or any(pad or ()):
            layer.fail(
                "global_pooling takes the whole image as its window; leave out "
                "kernel_size, stride and pad"
            )
        kernel = image
    if kernel is None:
        layer.fail("kernel_size is missing; give it, or kernel_h and kernel_w")
    assert stride is not None and pad is not None
    require_positive(layer, "kernel", kernel)
    require_positive(layer, "stride", stride)
    if any(p >= k for p, k in zip(pad, kernel, strict=True)):
        layer.fail(
            f"pad {pad} is not smaller than the kernel {kernel}; a window would lie "
            "in the padding alone"
        )
    return Geometry(kernel, stride, pad, (1, 1))


def require_positive(layer: Layer, name: str, values: Window) -> None:
    """The layer's error where a number is 0."""
    if 0 in values:
        layer.fail(
            f"{name} is {values}; each number must be at least 1 "
            f"(with {name}_h give {name}_w too)"
        )


def convolved(layer: Layer, geometry: Geometry, image: Shape) -> Shape:
    """The spatial shape of a convolution's top.

    As in Caffe a kernel may stand over by less than a stride: there is one window,
    which meets zeros behind the image.
    """
    sizes = []
    for i, span in enumerate(geometry.spans):
        inner = image[i] + 2 * geometry.pad[i]
        if span - inner >= geometry.stride[i]:
            layer.fail(
                f"the kernel covers {span} pixels of spatial axis {i}, but the bottom "
                f"has {image[i]}, with padding {inner}; make the kernel smaller or pad "
                f"by {-(-(span - image[i]) // 2)} (bottom {image}, {geometry})"
            )
        sizes.append(max(0, inner - span) // geometry.stride[i] + 1)
    return tuple(sizes)


def deconvolved(layer: Layer, geometry: Geometry, image: Shape) -> Shape:
    """The spatial shape of a deconvolution's top."""
    sizes = tuple(
        stride * (extent - 1) + span - 2 * pad
        for extent, stride, span, pad in zip(
            image, geometry.stride, geometry.spans, geometry.pad, strict=True
        )
    )
    if any(size < 1 for size in sizes):
        layer.fail(
            f"the top would have the spatial shape {sizes}; reduce pad "
            f"(bottom {image}, {geometry})"
        )
    return sizes


def pooled(layer: Layer, geometry: Geometry, image: Shape, ceil: bool) -> Shape:
    """The spatial shape of a pooling's top.

    With padding a last window that would begin in the padding behind the image is
    left out.
    """
    sizes = []
    for i, extent in enumerate(image):
        kernel, stride, pad = geometry.kernel[i], geometry.stride[i], geometry.pad[i]
        room = extent + 2 * pad - kernel
        size = (-(-room // stride) if ceil else room // stride) + 1
        if size < 1:
            layer.fail(
                f"the window covers {kernel} pixels of spatial axis {i}, but the "
                f"bottom has {extent}, with padding {extent + 2 * pad}; make the "
                f"window smaller, or use global_pooling (bottom {image}, {geometry})"
            )
        if any(geometry.pad) and (size - 1) * stride >= extent + pad:
            size -= 1
        sizes.append(size)
    return tuple(sizes)


def _per_axis(
    layer: Layer, param: Any, name: str, axes: int, default: int | None
) -> Window:
    """A number per axis from `name` (one, or one per axis) or its _h and _w forms."""
    given = list(getattr(param, name))
    stem = name.removesuffix("_size")
    pair = _height_and_width(param, stem)
    if pair is None:
        if not given and default is not None:
            return (default,) * axes
        if len(given) not in (1, axes):
            layer.fail(
                f"{name} has {len(given)} numbers and the bottom {axes} spatial axes; "
                "give one number, or one for each axis"
            )
        return tuple(given) if len(given) == axes else tuple(given) * axes
    if given:
        layer.fail(f"{name} and {stem}_h, {stem}_w are both given; give only one")
    if axes != 2:
        layer.fail(
            f"{stem}_h and {stem}_w are for 2 spatial axes, the bottom has {axes}; "
            f"give {name} once for each axis"
        )
    return pair


def _single(
    layer: Layer, param: Any, name: str, default: Window | None
) -> Window | None:
    """A number for both axes from `name`, or one each from its _h and _w forms."""
    stem = name.removesuffix("_size")
    given = [field for field in (f"{stem}_h", f"{stem}_w") if param.HasField(field)]
    if param.HasField(name):
        if given:
            layer.fail(f"{name} and {given[0]} are both given; give only one")
        return (getattr(param, name),) * 2
    if len(given) == 1:
        layer.fail(f"{given[0]} is given alone; give both {stem}_h and {stem}_w")
    return tuple(getattr(param, field) for field in given) or default


def _height_and_width(param: Any, stem: str) -> Window | None:
    """The _h and _w forms if one is given; the other is then 0, as in Caffe."""
    names = (f"{stem}_h", f"{stem}_w")
    fields = param.DESCRIPTOR.fields_by_name
    if names[0] not in fields or not any(param.HasField(name) for name in names):
        return None
    return tuple(getattr(param, name) for name in names)
