"""The mean image that transform_param.mean_file names."""

import numpy as np
from google.protobuf.message import DecodeError

from geeps_caffe.data.database import describe
from geeps_caffe.data.listing import read_given
from geeps_caffe.device.array import Array, count
from geeps_caffe.errors import DataError
from prototxt.schema import BlobProto


def read_mean(path: str) -> Array:
    """The mean image of a .binaryproto file, float32 (C, H, W).

    Raises:
        DataError: the file is missing or holds no mean image.
    """
    content = read_given(path, "mean file")
    try:
        return _image(BlobProto.FromString(content))
    except (DecodeError, ValueError) as error:
        raise DataError(
            f"mean file {describe(path)} is no mean image: {error}; it is made by "
            "`compute_image_mean DB FILE`, or use mean_value instead"
        ) from error


def write_mean(mean: Array) -> bytes:
    """The bytes of a mean file for an image (C, H, W), as compute_image_mean's."""
    channels, height, width = mean.shape
    blob = BlobProto(num=1, channels=channels, height=height, width=width)
    blob.data.extend(mean.astype(np.float32).ravel().tolist())
    content: bytes = blob.SerializeToString(deterministic=True)
    return content


def _image(blob: BlobProto) -> Array:
    legacy = (blob.num or 1, blob.channels, blob.height, blob.width)
    shape = tuple(blob.shape.dim) if blob.HasField("shape") else legacy
    shape = (1,) * (4 - len(shape)) + shape
    values = np.array(blob.data or blob.double_data, np.float32)
    if len(shape) != 4 or shape[0] != 1 or not values.size:
        raise ValueError(f"its blob has shape {shape} and {values.size} values")
    if values.size != count(shape):
        raise ValueError(f"its blob of shape {shape} has {values.size} values")
    return values.reshape(shape[1:])
