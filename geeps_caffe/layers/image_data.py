"""ImageData: image files named in a list."""

from typing import ClassVar

from geeps_caffe.data.decode import Colour
from geeps_caffe.data.image_list import read_image_list
from geeps_caffe.data.images import ImageFeed, ImageForm
from geeps_caffe.data.order import Order, Sequential, Shuffled, first_place
from geeps_caffe.data.reader import Reader
from geeps_caffe.data.sampler import Sampler
from geeps_caffe.data.transform_param import read_transform, refuse_fields
from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.source import SourceLayer

_OTHER_ARITHMETIC = ("min_height", "min_width", "short_side", "dataset_share_per_node")


class ImageData(SourceLayer):
    """Top 0: images (N, C, H, W), transformed; top 1, if named: labels (N,).

    With batch_size 1, no crop and no new size the top takes each image's size.
    """

    type_name: ClassVar = "ImageData"

    def open(self) -> tuple[Reader, Shapes]:
        """See SourceLayer."""
        param, tops = self.spec.image_data_param, len(self.spec.top)
        refuse_fields(param, _OTHER_ARITHMETIC, "image_data_param")
        if not param.source:
            raise ValueError("image_data_param has no source; give a list of images")
        share = self.share(param.batch_size)
        self.transform = read_transform(
            self.spec.transform_param, self.training, self.setting.seed, self.use
        )
        images = read_image_list(param.source, param.root_folder)
        self.length = len(images)
        feed = ImageFeed(images, self._form(), self.transform, tops)
        sampler = Sampler(self._order(), share, self.length)
        first = int(sampler.batch(0).records[0]) % self.length
        shape, self.varies = feed.survey(share.batch, first)
        shapes = ((share.batch, *shape), (share.batch,))
        return Reader(feed, sampler), shapes[:tops]

    def _form(self) -> ImageForm:
        param = self.spec.image_data_param
        size = (param.new_height, param.new_width)
        if bool(size[0]) != bool(size[1]):
            raise ValueError(
                f"new_height is {size[0]} and new_width {size[1]}; set both or none"
            )
        colour = Colour.COLOUR if param.is_color else Colour.GREY
        return ImageForm(colour, size if size[0] else None)

    def _order(self) -> Order:
        param, seed = self.spec.image_data_param, self.setting.seed
        skip = first_place(param.rand_skip, seed, self.use)
        if param.shuffle:
            assert self.length is not None
            return Shuffled([self.length], seed, self.use, skip)
        return Sequential(skip)
