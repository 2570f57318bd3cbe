import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.engines.onednn.momentum import EXACT_PIECE, LEAST, PIECE
from geeps_caffe.solvers import Hyper, Updater, find_rule


def floats(size, rng):
    array = allocate(4 * size).view(np.float32)
    array[...] = rng.standard_normal(size)
    return array


@pytest.mark.parametrize("size", [LEAST, LEAST + 37, PIECE, 2 * PIECE + 129])
def test_an_update_is_the_rule_of_sgd_with_momentum_and_decay(engine, rng, size):
    weights, grad, history = (floats(size, rng) for _ in range(3))
    w, g, h = (array.astype(float) for array in (weights, grad, history))
    update = engine.bind_momentum(weights, grad, history, 0.9)
    for rate, decay, scale in ((0.1, 0.0, 1.0), (0.02, 0.05, 0.25)):
        update(rate, decay, scale)
        h = 0.9 * h + rate * (scale * g + decay * w)
        w = w - h
    np.testing.assert_allclose(history, h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weights, w, rtol=1e-5, atol=1e-6)


def test_an_exact_update_has_the_bits_of_the_solver(engine, rng):
    arrays = [floats(3 * EXACT_PIECE + 129, rng) for _ in range(3)]
    weights, _, history = arrays
    w, g, h = (array.copy() for array in arrays)
    update = engine.bind_momentum(*arrays, 0.9, exact=True)
    solver = Updater(find_rule("SGD"), np.float32)
    for rate, decay, scale in ((0.1, 0.0, 1.0), (0.0123, 0.0005, 1 / 3)):
        update(rate, decay, scale)
        solver.step(w, g, [h], Hyper(rate, momentum=0.9, weight_decay=decay), scale)
    np.testing.assert_array_equal(history, h)
    np.testing.assert_array_equal(weights, w)


def test_zeros_stay_zeros(engine):
    weights, grad, history = (allocate(4 * LEAST).view(np.float32) for _ in range(3))
    for exact in (False, True):
        update = engine.bind_momentum(weights, grad, history, 0.9, exact=exact)
        update(0.1, 0.5, 1.0)
    assert not weights.any() and not history.any()


def test_float64_and_small_arrays_are_left_to_numpy(engine):
    assert engine.bind_momentum(*np.zeros((3, LEAST)), 0.9) is None
    assert engine.bind_momentum(*np.zeros((3, LEAST - 1), np.float32), 0.9) is None
