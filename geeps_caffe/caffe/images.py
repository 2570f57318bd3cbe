"""Images as pycaffe has them: float32 (H, W, K) from 0 to 1, channels R, G, B."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.caffe.faults import ArrayError
from geeps_caffe.caffe.resampling import resample, zoom
from geeps_caffe.data import opencv as cv2
from geeps_caffe.data.decode import read_file
from geeps_caffe.device.array import Array
from geeps_caffe.errors import DataError

_GREY = (0.2125, 0.7154, 0.0721)  # of R, G, B in the luminance; scikit-image's numbers


def load_image(filename: str, color: bool = True) -> Array:
    """An image file as (H, W, 3) in R, G, B, or as (H, W, 1) without `color`.

    Raises:
        DataError: the file is missing or no image.
    """
    bytes_of_file = np.frombuffer(read_file(str(filename)), np.uint8)
    image = (
        cv2.imdecode(bytes_of_file, cv2.IMREAD_UNCHANGED)
        if len(bytes_of_file)
        else None
    )
    if image is None:
        raise DataError(f"image {str(filename)!r}: OpenCV can't decode it")
    image = _from_zero_to_one(image)
    if image.ndim == 2:
        return np.repeat(image[:, :, None], 3 if color else 1, axis=2)
    return image[:, :, 2::-1] if color else _grey(image)


def _from_zero_to_one(image: Array) -> Array:
    if image.dtype.kind == "f":
        return image.astype(np.float32)
    return (image / np.iinfo(image.dtype).max).astype(np.float32)


def _grey(image: Array) -> Array:
    """The luminance; what is transparent lies on white."""
    colours = image[:, :, 2::-1].astype(np.float64)
    if image.shape[2] == 4:
        alpha = image[:, :, 3:]
        colours = colours * alpha + (1 - alpha)
    return np.asarray(colours @ np.array(_GREY), np.float32)[:, :, None]


def resize_image(im: Array, new_dims: Sequence[int], interp_order: int = 1) -> Array:
    """An image (H, W, K) in another size (rows, columns).

    With 1 or 3 channels by scikit-image's rule, where what shrinks is smoothed before;
    with other numbers by SciPy's. `interp_order` is 1 (bilinear) or 0 (nearest).

    Raises:
        ArrayError: no image, or another order.
    """
    if im.ndim != 3 or interp_order not in (0, 1):
        raise ArrayError(
            f"an array of shape {im.shape} with interp_order {interp_order}; expected "
            "(rows, columns, channels) and an order of 0 or 1"
        )
    size = (int(new_dims[0]), int(new_dims[1]))
    if im.shape[2] not in (1, 3):
        return zoom(im, size, interp_order).astype(np.float32)
    low, high = im.min(), im.max()
    if low == high:
        return np.full((*size, im.shape[2]), low, np.float32)
    scaled = resample((im - low) / (high - low), size, interp_order)
    return np.asarray(scaled * (high - low) + low, np.float32)


def oversample(images: Sequence[Array], crop_dims: Sequence[int]) -> Array:
    """The four corners and the middle of each image, and the mirror images of these.

    Returns float32 (10 * n, rows, columns, K).
    """
    rows, columns = (int(extent) for extent in crop_dims)
    height, width = images[0].shape[:2]
    corners = [(y, x) for y in (0, height - rows) for x in (0, width - columns)]
    starts = [*corners, ((height - rows) // 2, (width - columns) // 2)]
    if min(height - rows, width - columns) < 0:
        raise ArrayError(
            f"crops of {rows} x {columns} don't fit into images of {height} x {width}"
        )
    crops = []
    for image in images:
        cut = [image[y : y + rows, x : x + columns] for y, x in starts]
        crops += [*cut, *(part[:, ::-1] for part in cut)]
    return np.array(crops, np.float32)
