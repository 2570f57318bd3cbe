"""Data: records of an LMDB or LevelDB database."""

from typing import ClassVar

from geeps_caffe.data import open_database
from geeps_caffe.data.order import Order, Sequential, Shuffled
from geeps_caffe.data.reader import DEPTH, Reader
from geeps_caffe.data.records import RecordFeed
from geeps_caffe.data.sampler import Sampler
from geeps_caffe.data.transform_param import read_colour, read_transform
from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.source import SourceLayer
from prototxt.schema import enum_name


class Data(SourceLayer):
    """Top 0: images (N, C, H, W), transformed; top 1, if named: labels (N,).

    Records come in the order of their keys and start again at the end, as in Caffe;
    with `shuffle: true` (a field of NVCaffe and Intel Caffe) in a new random order
    at each pass. `rand_skip` has no effect, as in Caffe since 2015. With batch_size 1
    and no crop the top takes each image's size.
    """

    type_name: ClassVar = "Data"

    def open(self) -> tuple[Reader, Shapes]:
        """See SourceLayer."""
        param, tops = self.spec.data_param, len(self.spec.top)
        if not param.source:
            raise ValueError("data_param has no source; give the path of a database")
        share = self.share(param.batch_size)
        self.transform = read_transform(
            self.spec.transform_param, self.training, self.setting.seed, self.use
        )
        colour = read_colour(self.spec.transform_param, param.force_encoded_color)
        database = open_database(param.source, enum_name(param, "backend"))
        feed = RecordFeed(database, self.transform, colour, tops)
        shape, self.varies = feed.survey(share.batch)
        if param.backend == param.LMDB:  # LevelDB would have to read all records
            self.length = len(database)
        reader = Reader(
            feed,
            Sampler(self._order(), share, self.length),
            depth=param.prefetch if param.HasField("prefetch") else DEPTH,
            threads=param.threads or None,
        )
        return reader, ((share.batch, *shape), (share.batch,))[:tops]

    def _order(self) -> Order:
        if not self.spec.data_param.shuffle:
            return Sequential()
        if self.length is None:
            raise ValueError("shuffle needs an LMDB; LevelDB is read in order only")
        return Shuffled([self.length], self.setting.seed, self.use)
