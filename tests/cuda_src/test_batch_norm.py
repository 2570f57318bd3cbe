import numpy as np
import pytest

from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run

FILE = "batch_norm.cu"
SHAPES = [(4, 3, 5), (2, 7, 600), (8, 2, 1)]


def by_channel(values):
    return np.float32(values)[None, :, None]


@pytest.mark.parametrize("shape", SHAPES)
def test_statistics(shape, rng):
    x, channels = floats(rng, *shape) + 3, shape[1]
    mean, variance = np.empty((2, channels), np.float32)
    args = (x, mean, variance, shape[0], shape[2])
    run(FILE, "batch_norm_statistics", channels, *args)
    close(mean, x.astype(float).mean(axis=(0, 2)))
    close(variance, x.astype(float).var(axis=(0, 2)))


@pytest.mark.parametrize("shape", SHAPES)
def test_forward(shape, rng):
    x, y, kept = floats(rng, *shape), *np.empty((2, *shape), np.float32)
    mean, deviation = floats(rng, shape[1]), 1 + abs(floats(rng, shape[1]))
    rest = shape[1:]
    run(FILE, "batch_norm_forward", x.size, x, mean, deviation, y, *rest)
    close(y, (x - by_channel(mean)) / by_channel(deviation))
    args = (x, mean, deviation, x, kept, *rest)
    run(FILE, "batch_norm_forward_keep", x.size, *args)
    np.testing.assert_array_equal([x, kept], [y, y])


@pytest.mark.parametrize("shape", SHAPES)
def test_backward(shape, rng):
    dy, y, channels = floats(rng, *shape), floats(rng, *shape), shape[1]
    mean, along = np.empty((2, channels), np.float32)
    args = (dy, y, mean, along, shape[0], shape[2])
    run(FILE, "batch_norm_diff_means", channels, *args)
    close(mean, dy.astype(float).mean(axis=(0, 2)))
    close(along, (dy.astype(float) * y).mean(axis=(0, 2)))
    deviation, dx = 1 + abs(floats(rng, channels)), like(dy)
    args = (dy, y, mean, along, deviation, dx, *shape[1:])
    run(FILE, "batch_norm_backward", dy.size, *args)
    wanted = dy - by_channel(mean) - by_channel(along) * y
    close(dx, wanted / by_channel(deviation))
    args = (dy, deviation, dx, *shape[1:])
    run(FILE, "batch_norm_backward_stored", dy.size, *args)
    close(dx, dy / by_channel(deviation))


def test_stored_sums(rng):
    mean, variance = np.array([[2, 4], [1, 9]], np.float32)
    sums, squares = np.array([[10, 20], [30, 40]], np.float32)
    weight = np.array([2], np.float32)
    args = (mean, variance, sums, squares, weight, 0.5, 1.25)
    run(FILE, "batch_norm_store", 2, *args)
    np.testing.assert_array_equal(sums, [7, 14])
    np.testing.assert_array_equal(squares, [16.25, 31.25])
    assert weight[0] == 2
    run(FILE, "batch_norm_stored", 2, sums, squares, weight, mean, variance)
    np.testing.assert_array_equal(mean, [3.5, 7])
    run(FILE, "batch_norm_deviation", 2, mean, variance, 0.5)
    close(variance, [2, np.sqrt(7.5)])
    weight[0] = 0
    run(FILE, "batch_norm_stored", 2, sums, squares, weight, mean, variance)
    np.testing.assert_array_equal([mean, variance], np.zeros((2, 2)))
