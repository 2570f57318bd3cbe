"""Classifier: a deploy net that takes images, as pycaffe has it."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.caffe.batches import Batch
from geeps_caffe.caffe.images import oversample, resize_image
from geeps_caffe.caffe.mode import TEST
from geeps_caffe.caffe.net import Net
from geeps_caffe.caffe.transformer import Mean, Transformer
from geeps_caffe.device.array import Array


class ImageNet(Net):
    """A net in TEST whose first input takes images (H, W, K) in R, G, B from 0 to 1.

    Args:
        model_file, pretrained_file: the deploy net and its weights.
        mean: numbers by channel, an image, or its file.
        input_scale, raw_scale, channel_swap: see Transformer.
    """

    def __init__(
        self,
        model_file: str,
        pretrained_file: str,
        mean: Mean | None = None,
        input_scale: float | None = None,
        raw_scale: float | None = None,
        channel_swap: Sequence[int] | None = None,
    ) -> None:
        super().__init__(model_file, TEST, weights=pretrained_file)
        name = self.inputs[0]
        self.transformer = Transformer({name: self.blobs[name].shape})
        self.transformer.set_transpose(name, (2, 0, 1))
        if mean is not None:
            self.transformer.set_mean(name, mean)
        if input_scale is not None:
            self.transformer.set_input_scale(name, input_scale)
        if raw_scale is not None:
            self.transformer.set_raw_scale(name, raw_scale)
        if channel_swap is not None:
            self.transformer.set_channel_swap(name, channel_swap)

    @property
    def crop_dims(self) -> Array:
        """The rows and columns of the input."""
        return np.array(self.blobs[self.inputs[0]].shape[2:])

    def scores(self, images: Sequence[Array]) -> Array:
        """The net's first output for each of the images."""
        name = self.inputs[0]
        batch = np.stack([self.transformer.preprocess(name, one) for one in images])
        inputs: Batch = {name: batch}
        return self.forward_all(**inputs)[self.outputs[0]]


class Classifier(ImageNet):
    """Classes of images of any size.

    Args:
        image_dims: the size that images are brought to before they are cropped; by
            default that of the input.
        model_file, pretrained_file, mean, input_scale, raw_scale, channel_swap: see
            ImageNet.
    """

    def __init__(
        self,
        model_file: str,
        pretrained_file: str,
        image_dims: Sequence[int] | None = None,
        mean: Mean | None = None,
        input_scale: float | None = None,
        raw_scale: float | None = None,
        channel_swap: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            model_file, pretrained_file, mean, input_scale, raw_scale, channel_swap
        )
        given = image_dims if image_dims else self.crop_dims.tolist()
        self.image_dims = np.array(given)

    def predict(self, inputs: Sequence[Array], oversample: bool = True) -> Array:
        """Scores (images, classes).

        Args:
            inputs: images (H, W, K).
            oversample: the mean over ten crops; else the middle one alone.
        """
        images = [resize_image(one, self.image_dims.tolist()) for one in inputs]
        if not oversample:
            return self.scores([self._middle(one) for one in images])
        scores = self.scores(list(_ten_crops(images, self.crop_dims.tolist())))
        means: Array = scores.reshape(len(images), 10, -1).mean(axis=1)
        return means

    def _middle(self, image: Array) -> Array:
        rows, columns = self.crop_dims
        top, left = (self.image_dims / 2 - self.crop_dims / 2).astype(int)
        return image[top : top + rows, left : left + columns]


_ten_crops = oversample  # `predict` has a flag of this name
