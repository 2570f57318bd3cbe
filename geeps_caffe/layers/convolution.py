"""The Convolution layer."""

from dataclasses import replace
from typing import ClassVar, TypeAlias

from geeps_caffe.device.array import Shape, Shapes
from geeps_caffe.engines import operations
from geeps_caffe.engines.operations import Operation
from geeps_caffe.layers.base import Blob, Blobs, Layer, ParamSpec, Run
from geeps_caffe.layers.fillers import learnable
from geeps_caffe.layers.windowed import convolved, read_convolution

Kind: TypeAlias = type[operations.Convolution] | type[operations.Deconvolution]


class Convolution(Layer):
    """Each top is its bottom (N ..., C, spatial ...) correlated with the weights.

    All bottoms are of one shape and meet the same weights. Axes before `axis` are
    batch axes.
    """

    type_name = "Convolution"
    bottoms = (1, None)
    tops = (1, None)
    same_count = True
    kind: ClassVar[Kind] = operations.Convolution

    def setup(self, bottom: Shapes) -> None:
        """Read the window, and check channels against groups."""
        self.param = self.spec.convolution_param
        self.channel_axis = self.axis(self.param.axis, len(bottom[0]))
        self.channels = bottom[0][self.channel_axis]
        axes = len(bottom[0]) - self.channel_axis - 1
        self.geometry = read_convolution(self, self.param, axes)
        outputs, group = self.param.num_output, self.param.group
        if outputs < 1 or group < 1:
            self.fail(
                f"num_output is {outputs} and group {group}; both must be at least 1"
            )
        for what, extent in (("bottom's channels", self.channels), ("top's", outputs)):
            if extent % group:
                self.fail(
                    f"group {group} does not divide the {extent} of the {what}; "
                    "choose a group that divides both the bottom's channels and "
                    "num_output"
                )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """Channels become num_output; the window decides about the spatial axes."""
        shape, first = bottom[0], self.channel_axis
        if any(other != shape for other in bottom):
            self.fail(f"all bottoms must have one shape; they have {[*bottom]}")
        spatial = len(self.geometry.kernel)
        if len(shape) != first + 1 + spatial or shape[first] != self.channels:
            self.fail(
                f"the bottom has become {shape}, but the weights are for "
                f"{self.channels} channels at axis {first} and {spatial} spatial axes"
            )
        sizes = self.sizes(shape[first + 1 :])
        return [(*shape[:first], self.param.num_output, *sizes)] * len(bottom)

    def remarks(self) -> list[str]:
        """Of an interpolation that adds channels up."""
        summed = self.channels // self.param.group
        if self.param.weight_filler.type != "bilinear" or summed == 1:
            return []
        return [
            "its bilinear weights are the same for every pair of channels, so that "
            f"each output is a sum of {summed} interpolated channels; give group: "
            f"{self.channels} and num_output: {self.channels} to interpolate each "
            "channel by itself"
        ]

    def sizes(self, image: Shape) -> Shape:
        """The spatial shape of the top."""
        return convolved(self, self.geometry, image)

    def weight_channels(self) -> Shape:
        """The first two extents of the weights."""
        return self.param.num_output, self.channels // self.param.group

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """Weights, and a bias for each output."""
        del bottom
        shape = (*self.weight_channels(), *self.geometry.kernel)
        weights = learnable(self, "weight_filler", shape, self.param.weight_filler)
        if not self.param.bias_term:
            return [weights]
        shape = (self.param.num_output,)
        return [weights, learnable(self, "bias_filler", shape, self.param.bias_filler)]

    def operation(self) -> Operation | None:
        """For the usual single bottom."""
        return self._operation() if len(self.spec.bottom) == 1 else None

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Bottom after bottom."""
        for x, y in zip(bottom, top, strict=True):
            super().forward(run, [x], [y])

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The gradients of the params are sums over the bottoms."""
        super().backward(run, top[:1], bottom[:1])
        for y, x in zip(top[1:], bottom[1:], strict=True):
            parts = [
                Blob(p.data, None if p.diff is None else run.xp.empty_like(p.diff))
                for p in run.params
            ]
            super().backward(replace(run, params=parts), [y], [x])
            for whole, part in zip(run.params, parts, strict=True):
                if whole.diff is not None and part.diff is not None:
                    whole.diff += part.diff

    def _operation(self) -> Operation:
        window = self.geometry
        return self.kind(
            kernel=window.kernel,
            stride=window.stride,
            pad=window.pad,
            dilation=window.dilation,
            group=self.param.group,
            bias=self.param.bias_term,
        )
