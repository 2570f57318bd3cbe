"""Pictures of bytes as floats."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.reference.functions.code import ArrayCode


class Transform(ArrayCode):
    """See `engines.functions.OtherFunctions`."""

    def transform(
        self,
        pixels: Array,
        numbers: Array,
        mean: Array,
        mean_steps: tuple[int, int],
        scale: float,
        out: Array,
    ) -> None:
        """In float32, as a host's transform has it."""
        xp = self.xp
        n, *by_axis, first, column = (
            numbers[:, k].reshape(-1, 1, 1, 1) for k in range(numbers.shape[1])
        )
        c, h, w = (
            xp.arange(extent).reshape((-1,) + (1,) * (2 - axis))
            for axis, extent in enumerate(out.shape[1:])
        )
        places = n + by_axis[0] * c + by_axis[1] * h + by_axis[2] * w
        means = first + mean_steps[0] * c + mean_steps[1] * h + column * w
        values = pixels[places].astype(xp.float32) - mean[means]
        out[...] = values * xp.float32(scale)
