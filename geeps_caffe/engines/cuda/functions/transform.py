"""Pictures of bytes as floats, by a kernel."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.cuda.functions.code import KernelCode


class Transform(KernelCode):
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
        """A thread for each value."""
        arrays = (pixels, numbers, mean, out)
        args = (*out.shape[1:], *mean_steps, scale)
        self.launch("transform.cu", "transform", out.size, *arrays, *args)
