"""A batch of images with a label each, as Data and ImageData make it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import Array, Shape, Shapes
from geeps_caffe.errors import DataError


@dataclass(frozen=True)
class Pictures:
    """Decoded images (C, H, W), all of one size once cropped."""

    images: Sequence[Array]
    labels: Sequence[int]
    shapes: Shapes  # of the tops: images, and labels if there is a second top


def arrange(
    images: Sequence[Array],
    labels: Sequence[int],
    transform: Transform,
    tops: int,
    expected: Shape | None,
    name: Callable[[int], str],
) -> Pictures:
    """Check the images of a batch and say the tops' shapes.

    `expected` is the shape that every image must have after the crop; None takes
    that of the first. `name` names image i of the batch.

    Raises:
        DataError: an image does not fit; it is named.
    """
    found = [image.shape for image in images]
    for one in dict.fromkeys(found):
        try:
            transform.check(one)
        except ValueError as error:
            raise DataError(f"{name(found.index(one))}: {error}") from error
        shape = transform.output(one)
        expected = expected or shape
        if shape != expected:
            raise DataError(
                f"{name(found.index(one))} has shape {shape} (channels, rows, "
                f"columns), the others {expected}; {_fix(shape, expected)}"
            )
    assert expected is not None
    shapes = ((len(images), *expected), (len(images),))[:tops]
    return Pictures(images, labels, shapes)


def write(
    transform: Transform, batch: Batch, pictures: Pictures, tops: Sequence[Array]
) -> None:
    """Transform the images into top 0, the labels into top 1 if there is one."""
    transform.write(pictures.images, batch.places, tops[0])
    if len(tops) > 1:
        tops[1][...] = np.asarray(pictures.labels)


def _fix(shape: Shape, expected: Shape) -> str:
    if shape[0] != expected[0]:
        wanted = "force_color" if expected[0] == 3 else "force_gray"
        return f"set `{wanted}: true` in transform_param, or convert the images"
    return (
        "set crop_size, resize the images (new_height and new_width, or when the "
        "database is made), or take batch_size 1"
    )
