"""The Crop layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Layer


class Crop(Layer):
    """The first bottom, from `offset` on cut to the second's shape from `axis` on."""

    type_name = "Crop"
    bottoms = (2, 2)
    no_gradient = frozenset({1})
    shape_only = frozenset({1})

    def setup(self, bottom: Shapes) -> None:
        """Find the first axis that is cut."""
        param = self.spec.crop_param
        axes = len(bottom[0])
        self.first = self.axis(param.axis, axes)
        self.offsets = tuple(param.offset)
        cut = axes - self.first
        if len(self.offsets) not in (0, 1, cut):
            self.fail(
                f"{len(self.offsets)} numbers of offset are given, but {cut} axes are "
                f"cut (from axis {self.first} of {bottom[0]}); give none, 1 or {cut}"
            )
        if len(self.offsets) < 2:
            self.offsets = (self.offsets or (0,)) * cut

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The first's extents before `axis`, the second's from there on."""
        whole, model = bottom
        if len(model) != len(whole):
            self.fail(f"bottoms have unlike numbers of axes: {whole} and {model}")
        for axis, begin in enumerate(self.offsets, self.first):
            if begin + model[axis] > whole[axis]:
                self.fail(
                    f"axis {axis} has {whole[axis]}, too few for the second bottom's "
                    f"{model[axis]} at offset {begin}; reduce offset, or pad "
                    f"more before the crop (bottoms {whole} and {model})"
                )
        return [(*whole[: self.first], *model[self.first :])]

    def operation(self) -> operations.Crop:
        """All of it."""
        return operations.Crop((*(0,) * self.first, *self.offsets))
