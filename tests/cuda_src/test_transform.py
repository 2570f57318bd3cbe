import numpy as np

from tests.cuda_src.arrays import like
from tests.cuda_src.build import run

CUTS = np.array([[0, 0, 0], [2, 3, 1], [1, 1, 0]], np.int32)  # row, column, mirrored
SIZES = (2, 4, 5, 6, 8)  # channels, height, width, rows, columns


def by_hand(images, mean, scale):
    parts = []
    for image, (row, column, mirrored) in zip(images - mean, CUTS, strict=True):
        part = image[:, row : row + 4, column : column + 5]
        parts.append(part[..., ::-1] if mirrored else part)
    return np.array(parts, np.float32) * np.float32(scale)


def test_crop_mirror_mean_and_scale(rng):
    images = rng.integers(0, 256, (3, 2, 6, 8), np.uint8)
    y = like(np.empty((3, 2, 4, 5), np.float32))
    values = np.array([100, 3.5], np.float32)
    args = (images, CUTS, values, y, *SIZES, 0.1)
    run("transform.cu", "transform_channel_mean", y.size, *args)
    np.testing.assert_array_equal(y, by_hand(images, values[:, None, None], 0.1))
    mean = rng.uniform(0, 255, (2, 6, 8)).astype(np.float32)
    args = (images, CUTS, mean, y, *SIZES, 2)
    run("transform.cu", "transform_mean_image", y.size, *args)
    np.testing.assert_array_equal(y, by_hand(images, mean, 2))
