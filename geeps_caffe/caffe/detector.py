"""Detector: scores of windows of images, as pycaffe has it (R-CNN)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from geeps_caffe.caffe.classifier import ImageNet
from geeps_caffe.caffe.faults import ArrayError
from geeps_caffe.caffe.images import load_image, resize_image
from geeps_caffe.caffe.transformer import Mean
from geeps_caffe.device.array import Array


class Detector(ImageNet):
    """Scores of windows.

    Args:
        context_pad: pixels of the input around the window that show what is beside
            it; where the image ends they have the mean.
        model_file, pretrained_file, mean, input_scale, raw_scale, channel_swap: see
            ImageNet.
    """

    def __init__(
        self,
        model_file: str,
        pretrained_file: str,
        mean: Mean | None = None,
        input_scale: float | None = None,
        raw_scale: float | None = None,
        channel_swap: Sequence[int] | None = None,
        context_pad: int | None = None,
    ) -> None:
        super().__init__(
            model_file, pretrained_file, mean, input_scale, raw_scale, channel_swap
        )
        self.context_pad = int(context_pad or 0)

    def detect_windows(
        self, images_windows: Iterable[tuple[str, Iterable[Array]]]
    ) -> list[dict[str, Any]]:
        """Scores of the windows (top, left, bottom, right) of image files.

        Returns a dict of window, prediction and filename for each.
        """
        named = [(name, list(windows)) for name, windows in images_windows]
        crops: list[Array] = []
        for name, windows in named:
            image = load_image(name)
            crops += [self.crop(image, np.asarray(window)) for window in windows]
        scores = iter(self.scores(crops) if crops else ())
        return [
            {"window": window, "prediction": next(scores), "filename": name}
            for name, windows in named
            for window in windows
        ]

    def crop(self, im: Array, window: Array) -> Array:
        """The window of an image (H, W, K), with its surroundings where asked for.

        Raises:
            ArrayError: nothing of the window lies in the image.
        """
        if not self.context_pad:
            top, left, bottom, right = (int(edge) for edge in window)
            return self._some(im[top:bottom, left:right], window)
        return self._with_context(im, np.asarray(window, float))

    def _with_context(self, im: Array, window: Array) -> Array:
        side = int(self.crop_dims[1])
        scale = side / (side - 2.0 * self.context_pad)
        half = (window[2:] - window[:2] + 1) / 2
        middle = window[:2] + half
        box = np.round(np.concatenate([middle - scale * half, middle + scale * half]))
        factors = side / (box[2:] - box[:2] + 1)
        pads = np.round(np.maximum(0, -box[:2]) * factors).astype(int)
        box = np.clip(box, 0, np.tile(im.shape[:2], 2))
        extents = np.round((box[2:] - box[:2] + 1) * factors).astype(int)
        rows, columns = np.minimum(extents, side - pads)
        top, left, bottom, right = box.astype(int)
        part = self._some(im[top:bottom, left:right], window)
        crop = np.ones((side, side, im.shape[2]), np.float32) * self._outside()
        crop[pads[0] : pads[0] + rows, pads[1] : pads[1] + columns] = resize_image(
            part, (rows, columns)
        )
        return crop.astype(np.float32)

    def _some(self, part: Array, window: Array) -> Array:
        if not part.size:
            raise ArrayError(
                f"window {window.tolist()} (top, left, bottom, right) has no pixel of "
                "the image"
            )
        return part

    def _outside(self) -> Array:
        """The mean in the form of images: (H, W, K), or zeros."""
        name = self.inputs[0]
        if name not in self.transformer.mean:
            return np.zeros(1, np.float32)
        mean = self.transformer.mean[name]
        if name in self.transformer.channel_swap:
            mean = mean[np.argsort(self.transformer.channel_swap[name])]
        raw = np.float32(self.transformer.raw_scale.get(name, 1))
        return np.asarray(mean.transpose(1, 2, 0) / raw, np.float32)
