"""What layers ask of the engine by name: kernels beside the plain definitions."""

import numpy as np
import pytest

from geeps_caffe.device.philox import Stream
from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.engines.cuda.functions import KernelFunctions
from geeps_caffe.engines.reference.functions import ArrayFunctions
from tests.cuda_double.fixtures import double
from tests.engines.battery import assert_close

__all__ = ["double"]

SHAPES = [(4, 10, 1), (2, 5, 12), (3, 1, 1), (1, 3, 2500), (0, 3, 1)]
PLAIN = ArrayFunctions()


class Both:
    """Calls the kernels with arrays of the device, the definition with float64."""

    def __init__(self, engine):
        self.engine, self.kernels = engine, engine.functions(np.float32)
        assert isinstance(self.kernels, KernelFunctions)

    def run(self, name, *args):
        """What both return, and compares all arrays that are left."""
        mine, wide = (list(map(convert, args)) for convert in (self._there, _wide))
        with self.engine.device.running():
            found = getattr(self.kernels, name)(*mine)
        wanted = getattr(PLAIN, name)(*wide)
        for a, b in zip(mine, wide, strict=True):
            if isinstance(b, np.ndarray):
                mine_there, theirs = a.get().astype(float), b.astype(float)
                valid = ~np.isnan(theirs)
                np.testing.assert_array_equal(~np.isnan(mine_there), valid)
                assert_close(mine_there[valid], theirs[valid], name)
        return found, wanted

    def _there(self, value):
        if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            return tuple(map(self._there, value))
        if isinstance(value, np.ndarray):
            return self.engine.xp.asarray(value)
        return value


def _wide(value):
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
        return tuple(map(_wide, value))
    if isinstance(value, np.ndarray):
        return value.astype(float) if value.dtype == np.float32 else value.copy()
    return value


@pytest.fixture
def both(double):
    return Both(CudaEngine())


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def nothing(*shape, dtype=np.float32):
    """Memory for results."""
    return np.zeros(shape, dtype)


def labels_for(shape, rng, ignored):
    outer, classes, inner = shape
    labels = rng.integers(0, classes, (outer, inner)).astype(np.float32)
    if ignored is not None:
        labels[rng.random(labels.shape) < 0.3] = ignored
    return labels


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ignored", [None, 255])
def test_softmax_losses_and_their_slopes(both, shape, ignored, rng):
    outer, classes = shape[:2]
    p, labels = nothing(*shape), labels_for(shape, rng, ignored)
    scores = floats(rng, *shape)
    both.run("softmax", scores, p) if outer else None
    PLAIN.softmax(scores, p) if outer else None
    for weights in ((), tuple(np.arange(1.0, classes + 1))):
        found, wanted = both.run("label_losses", p, labels, ignored, weights)
        assert found.total == pytest.approx(float(wanted.total), rel=1e-5)
        assert found.counted == wanted.counted
        assert not found.wrong and not found.underflow
        above = (np.full((), 3, np.float32), 7.0)
        args = (p, labels, ignored, weights, *above, nothing(*shape))
        both.run("label_slopes", *args)


@pytest.mark.parametrize("label", [-1, 10])
def test_labels_that_name_no_class_are_told(both, label, rng):
    p, labels = np.full((4, 10, 1), 0.1, np.float32), nothing(4, 1)
    labels[2] = label
    found, wanted = both.run("label_losses", p, labels, 3, ())
    assert found.wrong and wanted.wrong
    ranks, theirs = both.run("label_ranks", p, labels, 3)
    assert both.kernels.count_hits(ranks, 1).wrong
    assert PLAIN.count_hits(theirs, 1).wrong


def test_divergence_is_told(both):
    p = np.array([[[0], [1]], [[0.5], [0.5]]], np.float32)
    found, _ = both.run("label_losses", p, nothing(2, 1), None, ())
    assert found.underflow
    p[1] = np.nan
    found, _ = both.run("label_losses", p, nothing(2, 1), None, ())
    assert np.isnan(found.total)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ignored", [None, 255])
def test_ranks_and_hits(both, shape, ignored, rng):
    labels = labels_for(shape, rng, ignored)
    scores = rng.integers(0, 4, shape).astype(np.float32)
    scores[rng.random(shape) < 0.1] = np.nan
    mine, theirs = both.run("label_ranks", scores, labels, ignored)
    np.testing.assert_array_equal(mine.get(), theirs)
    for top_k in (1, shape[1]):
        assert both.kernels.count_hits(mine, top_k) == PLAIN.count_hits(theirs, top_k)


@pytest.mark.parametrize("size", [0, 5, 3000])
@pytest.mark.parametrize("ignored", [None, 1])
def test_logistic_losses_and_their_slopes(both, size, ignored, rng):
    x, targets = 20 * floats(rng, size), rng.integers(0, 2, size).astype(np.float32)
    found, wanted = both.run("logistic_losses", x, targets, ignored)
    assert found == pytest.approx([float(v) for v in wanted], rel=1e-5)
    above = (np.full((), 3, np.float32), 7.0)
    both.run("logistic_slopes", x, targets, ignored, *above, nothing(size))


def test_steps_of_recurrent_layers(both, rng):
    n, size = 3, 7
    gates, cont = floats(rng, n, 4 * size), np.array([1, 0, 1], np.float32)
    before, cells, shown = floats(rng, n, size), nothing(n, size), nothing(n, size)
    both.run("lstm_step", gates, before, cont, cells, shown)
    diffs = (floats(rng, n, size), floats(rng, n, size))
    out = (nothing(n, 4 * size), nothing(n, size))
    both.run("lstm_step_back", gates, before, cells, diffs, *out)
    sums, recurrent = floats(rng, n, size), floats(rng, n, size)
    both.run("rnn_step", sums, recurrent, nothing(n, size))
    both.run("rnn_step_back", np.tanh(sums), *diffs, nothing(n, size))


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 5), (9,), (3, 0)])
def test_coins_are_those_of_the_stream(both, shape, rng):
    stream = Stream(2**40 + 9, 77, 3, np.array([5, 1, 2**33], np.int64))
    x, kept = floats(rng, *shape), nothing(*shape, dtype=bool)
    y = nothing(*shape)
    both.run("dropout", stream, x, 2**30, 1 / 0.75, kept, y)
    bits = stream.bits(shape)
    both.run("dropout_back", x, bits >= 2**30, 1 / 0.75, y)


def test_rows_by_number(both, rng):
    index = np.array([4, 0, 4, 2, 4], np.int64)
    table, rows = floats(rng, 6, 2, 3), floats(rng, 5, 2, 3)
    both.run("gather_rows", table, index, nothing(5, 2, 3))
    both.run("scatter_add_rows", rows, index, table)


def test_pictures_of_bytes(both, rng):
    """Two of 2 x 3 x 4 values, the second mirrored and with its channels last."""
    pixels = rng.integers(0, 256, 48, np.uint8)
    numbers = np.array([[0, 12, 4, 1, 0, 1], [24 + 6, 1, 8, -2, 3, -1]], np.int64)
    mean = floats(rng, 2 * 3 * 4)
    both.run("transform", pixels, numbers, mean, (12, 4), 0.3, nothing(2, 2, 3, 4))


def test_float64_is_for_array_code(double):
    functions = CudaEngine().functions(np.float64)
    assert type(functions) is ArrayFunctions
    assert functions.xp is double
