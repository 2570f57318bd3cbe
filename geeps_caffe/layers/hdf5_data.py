"""HDF5Data: rows of data sets in a list of HDF5 files."""

from typing import ClassVar

from geeps_caffe.data.hdf5 import Hdf5Feed, Hdf5Files, read_file_list
from geeps_caffe.data.order import Order, Sequential, Shuffled
from geeps_caffe.data.reader import Reader
from geeps_caffe.data.sampler import Sampler
from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.source import SourceLayer


class HDF5Data(SourceLayer):
    """Each top is named after a data set and takes batch_size of its rows.

    A batch may cross from one file into the next; the last is followed by the first.
    `shuffle` shuffles the files, and the rows in each.
    """

    type_name: ClassVar = "HDF5Data"
    tops: ClassVar[tuple[int, int | None]] = (1, None)

    def open(self) -> tuple[Reader, Shapes]:
        """See SourceLayer."""
        param = self.spec.hdf5_data_param
        if self.spec.HasField("transform_param"):
            raise ValueError("HDF5Data has no transform_param; transform the files")
        if not param.source:
            raise ValueError("hdf5_data_param has no source; give a list of HDF5 files")
        share = self.share(param.batch_size)
        files = Hdf5Files(read_file_list(param.source), list(self.spec.top))
        self.length = len(files)
        order: Order = Sequential()
        if param.shuffle:
            order = Shuffled(files.rows, self.setting.seed, self.use)
        reader = Reader(Hdf5Feed(files), Sampler(order, share, self.length), threads=1)
        return reader, tuple((share.batch, *shape) for shape in files.shapes)
