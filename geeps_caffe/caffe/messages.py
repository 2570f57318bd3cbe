"""Arrays to the messages of Caffe's files, and back."""

from collections.abc import Iterable

import numpy as np

from geeps_caffe.caffe.faults import ArrayError
from geeps_caffe.device.array import Array, count
from prototxt.schema import BlobProto, BlobProtoVector, Datum, Message

_LEGACY = ("num", "channels", "height", "width")


def blobproto_to_array(blob: Message, return_diff: bool = False) -> Array:
    """The data (or diff) of a BlobProto, float64, in its shape.

    Raises:
        ArrayError: the values don't fill the shape.
    """
    if return_diff:
        values = np.array(blob.diff or blob.double_diff, np.float64)
    else:
        values = np.array(blob.data or blob.double_data, np.float64)
    if any(blob.HasField(name) for name in _LEGACY):
        shape = tuple(getattr(blob, name) for name in _LEGACY)
    else:
        shape = tuple(blob.shape.dim)
    return _shaped(values, shape, "BlobProto")


def array_to_blobproto(arr: Array, diff: Array | None = None) -> Message:
    """A BlobProto of an array of any number of axes."""
    blob = BlobProto()
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(np.asarray(arr, np.float64).ravel().tolist())
    if diff is not None:
        blob.diff.extend(np.asarray(diff, np.float64).ravel().tolist())
    return blob


def arraylist_to_blobprotovector_str(arraylist: Iterable[Array]) -> bytes:
    """The bytes of a BlobProtoVector of these arrays."""
    vector = BlobProtoVector(blobs=[array_to_blobproto(arr) for arr in arraylist])
    found: bytes = vector.SerializeToString()
    return found


def blobprotovector_str_to_arraylist(data: bytes) -> list[Array]:
    """The arrays of a BlobProtoVector's bytes."""
    return [blobproto_to_array(b) for b in BlobProtoVector.FromString(data).blobs]


def array_to_datum(arr: Array, label: int | None = None) -> Message:
    """A Datum of an array (C, H, W): uint8 as bytes, other values as float_data.

    Raises:
        ArrayError: the array has not three axes.
    """
    if arr.ndim != 3:
        raise ArrayError(
            f"the array has shape {arr.shape}; a datum has (channels, height, width)"
        )
    datum = Datum(channels=arr.shape[0], height=arr.shape[1], width=arr.shape[2])
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(np.asarray(arr, np.float64).ravel().tolist())
    if label is not None:
        datum.label = int(label)
    return datum


def datum_to_array(datum: Message) -> Array:
    """The values of a Datum, uint8 or float64 (C, H, W).

    Raises:
        ArrayError: it holds an image file, or values that don't fill its shape.
    """
    if datum.encoded:
        raise ArrayError(
            "the datum is encoded: its data are an image file, which OpenCV's imdecode "
            "reads"
        )
    if datum.data:
        values = np.frombuffer(datum.data, np.uint8).copy()
    else:
        values = np.array(datum.float_data, np.float64)
    shape = (datum.channels, datum.height, datum.width)
    return _shaped(values, shape, "Datum")


def _shaped(values: Array, shape: tuple[int, ...], what: str) -> Array:
    if values.size != count(shape):
        raise ArrayError(f"a {what} of shape {shape} has {values.size} values")
    return values.reshape(shape)
