import numpy as np

from tests.cuda_src.arrays import like
from tests.cuda_src.build import run

# By record: the corner of the crop, and whether it is mirrored.
CUTS = [(0, 0, False), (2, 3, True), (1, 1, False)]
ROWS, COLUMNS, CHANNELS, HEIGHT, WIDTH = 6, 8, 2, 4, 5


def by_hand(images, mean, scale):
    found = []
    for image, (row, column, mirrored) in zip(images - mean, CUTS, strict=True):
        part = image[:, row : row + HEIGHT, column : column + WIDTH]
        found.append(part[..., ::-1] if mirrored else part)
    return np.array(found, np.float32) * np.float32(scale)


def numbers(first, steps, mean_steps):
    """The table, for whole images one after the other, by the crops' corners."""
    rows = []
    for i, (row, column, mirrored) in enumerate(CUTS):
        last, sign = (WIDTH - 1, -1) if mirrored else (0, 1)
        begin = first * i + row * steps[1] + (column + last) * steps[2]
        mean = row * mean_steps[0] + (column + last) * mean_steps[1]
        rows.append([begin, *steps[:2], sign * steps[2], mean, sign * mean_steps[1]])
    return np.array(rows, np.int64)


def transform(pixels, table, mean, mean_steps, scale):
    y = like(np.empty((3, CHANNELS, HEIGHT, WIDTH), np.float32))
    args = (pixels, table, mean, y, CHANNELS, HEIGHT, WIDTH, *mean_steps, scale)
    run("transform.cu", "transform", y.size, *args)
    return y


def test_crop_mirror_mean_and_scale(rng):
    images = rng.integers(0, 256, (3, CHANNELS, ROWS, COLUMNS), np.uint8)
    plane = ROWS * COLUMNS
    values = np.array([100, 3.5], np.float32)
    table = numbers(CHANNELS * plane, (plane, COLUMNS, 1), (0, 0))
    y = transform(images, table, values, (1, 0), 0.1)
    np.testing.assert_array_equal(y, by_hand(images, values[:, None, None], 0.1))
    mean = rng.uniform(0, 255, (CHANNELS, ROWS, COLUMNS)).astype(np.float32)
    table = numbers(CHANNELS * plane, (plane, COLUMNS, 1), (COLUMNS, 1))
    y = transform(images, table, mean, (plane, COLUMNS), 2)
    np.testing.assert_array_equal(y, by_hand(images, mean, 2))


def test_pixels_may_have_their_channels_side_by_side(rng):
    images = rng.integers(0, 256, (3, ROWS, COLUMNS, CHANNELS), np.uint8)
    steps = (1, COLUMNS * CHANNELS, CHANNELS)
    table = numbers(images[0].size, steps, (0, 0))
    y = transform(images, table, np.zeros(1, np.float32), (0, 0), 1)
    np.testing.assert_array_equal(y, by_hand(images.transpose(0, 3, 1, 2), 0.0, 1))
