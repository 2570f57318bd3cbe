"""The HDF5Output layer."""

from pathlib import Path

import numpy as np

from geeps_caffe.data.hdf5_output import Hdf5Output
from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.errors import DataError
from geeps_caffe.layers.base import Blobs, Layer, Run

_NAMES = ("data", "label")  # of the data sets, as Caffe and HDF5Data call them


class HDF5Output(Layer):
    """Writes bottom[0] and bottom[1] as data sets "data" and "label", in 4 axes.

    All forwards add to the file, which is there when the layer is closed. (Caffe can
    write one forward only.) Other ranks than 0 put their number into the file's name.
    """

    type_name = "HDF5Output"
    bottoms = (2, 2)
    tops = (0, 0)
    backward_reads = frozenset()
    no_gradient = frozenset({0, 1})

    def setup(self, bottom: Shapes) -> None:
        """Check the name and that records and labels are as many."""
        path = Path(self.spec.hdf5_output_param.file_name)
        if not path.name:
            self.fail("hdf5_output_param has no file_name")
        if not path.parent.is_dir():
            self.fail(f"file_name {str(path)!r}: there is no folder {path.parent}")
        if bottom[0][:1] != bottom[1][:1]:
            self.fail(
                f"bottom[0] has shape {bottom[0]} and bottom[1] {bottom[1]}; their "
                "first extents, the records, must agree"
            )
        rank = self.setting.rank
        name = f"{path.stem}.rank{rank}{path.suffix}" if rank else path.name
        self.path = str(path.with_name(name))
        self.output: Hdf5Output | None = None

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """No tops."""
        del bottom
        return []

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Add the bottoms' rows."""
        del run, top
        try:
            self.output = self.output or Hdf5Output(self.path)
            for name, blob in zip(_NAMES, bottom, strict=True):
                self.output.append(name, _four_axes(blob.data))
        except (DataError, OSError) as error:
            raise DataError(f"{self.title}: {error}") from error

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; nobody can ask for a diff."""

    def close(self) -> None:
        """Complete the file."""
        if self.output is not None:
            self.output.close()
            self.output = None


def _four_axes(array: Array) -> Array:
    """The array on the host, at least (N, C, H, W)."""
    host = array if isinstance(array, np.ndarray) else array.get()
    return host.reshape(*array.shape, *(1,) * (4 - array.ndim))
