"""Indices beyond 2^31: the last element of arrays that are too large to be filled.

Only the block that does the last element runs, so little of the memory is taken.
"""

import numpy as np
import pytest

from tests.cuda_src.build import run_tail

ROWS, CLASSES = 2**21 + 1, 2**10  # more than 2^31 scores
N = 2**31 + 5


def huge(n, dtype=np.float32):
    """Memory that is taken only where it is touched."""
    return np.zeros(n, dtype)


@pytest.mark.parametrize("extra", [0, 1])
def test_activations(extra):
    n = 2**31 + 5 + extra
    x, y = huge(n), huge(n)
    x[-1] = 3
    run_tail("activation.cu", "relu_forward", n, x, y, 0.0)
    assert y[-1] == 3


def test_rows():
    width, rows = 2**16, 2**15 + 1
    x, total = huge(rows * width), np.zeros(rows, np.float32)
    x[-width:] = 1
    run_tail("broadcast.cu", "sum_over", rows, x, total, 1, width)
    assert total[-1] == width


def crop_last(n):
    """The window is all rows but the first."""
    rows, columns = n // 2**15, 2**15
    table = [(rows, rows + 1, 1), (columns, columns, 0)]
    whole, part = huge((rows + 1) * columns), huge(rows * columns)
    return whole, part, np.array(table, np.int64)


def test_crops():
    whole, part, geometry = crop_last(2**31 + 2**15)
    whole[-1] = 3
    run_tail("crop.cu", "crop_forward", part.size, whole, part, geometry, 2)
    assert part[-1] == 3
    whole[-1] = 0
    run_tail("crop.cu", "crop_backward", whole.size, part, whole, geometry, 2)
    assert whole[-1] == 3


def test_tiles():
    inner = 2**30 + 3
    x, y, dx = huge(inner), huge(2 * inner), huge(inner)
    x[-1] = 3
    run_tail("tile.cu", "tile_forward", y.size, x, y, 2, inner)
    assert y[-1] == 3
    y[inner - 1] = 4
    run_tail("tile.cu", "tile_backward", inner, y, dx, 2, inner)
    assert dx[-1] == 7


def test_slices():
    """The last row of a part whose own and whose bottom's rows are this long."""
    row, width = 2**30 + 9, 2**30 + 5
    x, y = huge(3 * row), huge(3 * width)
    x[2 * row + width - 1] = 3
    run_tail("concat.cu", "copy_rows", y.size, x, row, y, width, width)
    assert y[-1] == 3


def test_neighbours():
    rows, columns = 2**16 + 1, 2**15
    n, place = rows * columns, (3, rows, columns, 1.0, 1.0)
    x, scale, y = huge(n), huge(n), huge(n)
    x[-1], x[-2 - columns] = 1, 2
    run_tail("lrn_within.cu", "lrn_within_forward", n, x, scale, y, *place)
    assert (scale[-1], y[-1]) == (6, np.float32(1) / 6)
    scale[[-2, -columns - 1, -columns - 2]] = 1
    run_tail("lrn_within.cu", "lrn_within_backward", n, x, x, scale, y, *place)
    expected = 1 / 6 - (4 + 1 / 36)
    np.testing.assert_allclose(y[-1], expected, 1e-6)


def test_pictures():
    """The second is mirrored, so its last value comes from its last row's begin."""
    height, width = 2**15, 2**15 + 1
    n = 2 * height * width
    pixels, y, zero = huge(n, np.uint8), huge(n), np.zeros(1, np.float32)
    rows = [(0, 0, width, 1, 0, 0), (n // 2 + width - 1, 0, width, -1, 0, 0)]
    pixels[-width] = 3
    args = (pixels, np.array(rows, np.int64), zero, y, 1, height, width, 0, 0, 1.0)
    run_tail("transform.cu", "transform", n, *args)
    assert y[-1] == 3


def scores_and_labels(outer, inner):
    """All are 0 but the last label's own, the last of all."""
    scores, labels = huge(outer * CLASSES * inner), huge(outer * inner)
    scores[-1], labels[-1] = 0.5, CLASSES - 1
    return scores, labels


def test_softmax_losses():
    p, labels = scores_and_labels(ROWS, 1)
    dx, diff, weights = huge(p.size), np.ones(1, np.float32), np.ones(1, np.float32)
    args = (p, labels, weights, diff, dx, CLASSES, 1, 0, 0, 0, 2.0)
    run_tail("softmax_loss.cu", "label_slopes", p.size, *args)
    assert dx[-1] == -0.25
    pieces = ROWS // 1024 + 1  # one item is in the last
    sums = np.zeros((pieces, 4), np.float32)
    args = (p, labels, weights, sums, ROWS, 1024, CLASSES, 1, 0, 0, 0)
    run_tail("softmax_loss.cu", "label_losses", pieces, *args)
    np.testing.assert_allclose(sums[-1], [np.log(2), 1, 0, 0], 1e-6)


def test_ranks_and_hits():
    scores, labels = scores_and_labels(ROWS, 1)
    ranks = huge(ROWS)
    args = (scores, labels, ranks, CLASSES, 0, 0)
    run_tail("accuracy.cu", "label_ranks_rows", ROWS, *args)
    assert ranks[-1] == 1
    scores, labels = scores_and_labels(ROWS // 2 + 1, 2)
    ranks = huge(labels.size)
    args = (scores, labels, ranks, CLASSES, 2, 0, 0)
    run_tail("accuracy.cu", "label_ranks", ranks.size, *args)
    assert ranks[-1] == 1
    ranks, pieces = huge(N), N // 1024 + 1
    ranks[-2:] = 1, 3
    sums = huge(3 * pieces)
    run_tail("accuracy.cu", "count_hits", pieces, ranks, sums, N, 1024, 2)
    assert sums[-3:].tolist() == [1, 2, 0]


def test_logistic_losses():
    x, targets, dx, pieces = huge(N), huge(N), huge(N), N // 1024 + 1
    targets[-1] = 1
    sums = huge(2 * pieces)
    args = (x, targets, sums, N, 1024, 0, 0)
    run_tail("logistic_loss.cu", "logistic_losses", pieces, *args)
    np.testing.assert_allclose(sums[-2:], [5 * np.log(2), 5], 1e-6)
    args = (x, targets, np.ones(1, np.float32), dx, 0, 0, 2.0)
    run_tail("logistic_loss.cu", "logistic_slopes", N, *args)
    assert dx[-1] == -0.25


def test_coins():
    """The last thread has one element."""
    each = 2**30 + 5
    x, y, kept = huge(2 * each), huge(2 * each), huge(2 * each, np.uint8)
    x[-1] = 3
    blocks = 2 * -(-each // 4)
    args = (x, y, kept, np.zeros(2, np.int64), each, 1, 2, 3, 4, 0, 2.0)
    run_tail("dropout.cu", "dropout_forward", blocks, *args)
    assert (y[-1], kept[-1]) == (6, 1)
    y[-1] = 0
    run_tail("dropout.cu", "dropout_backward", x.size, kept, x, y, 2.0)
    assert y[-1] == 6


def test_rows_by_number():
    width, index = 2**15, np.array([2**16], np.int64)
    table, rows = huge((2**16 + 1) * width), np.zeros(width, np.float32)
    table[-1] = 3
    run_tail("rows.cu", "gather_rows", width, table, index, rows, width)
    assert rows[-1] == 3
    table[-1], order = 0, np.zeros(1, np.int64)
    args = (rows, index, order, table, 1, width)
    run_tail("rows.cu", "scatter_add_rows", width, *args)
    assert table[-1] == 3


def test_steps_of_recurrent_layers():
    """The last cell's gates are i = f = o = 1/2, g = 1, and it was 1 before."""
    size, records = 2**10, 2**19 + 1
    n = size * records
    gates, before, cells, shown = huge(4 * n), huge(n), huge(n), huge(n)
    gates[-1], before[-1] = 100, 1
    cont = np.ones(records, np.float32)
    args = (gates, before, cont, cells, shown, size)
    run_tail("lstm_unit.cu", "lstm_unit_forward", n, *args)
    assert cells[-1] == 1
    np.testing.assert_allclose(shown[-1], np.tanh(1) / 2, 1e-6)
    assert gates[-1 - size * np.arange(4)].tolist() == [1, 0.5, 0.5, 0.5]
    diffs, before_diff = huge(4 * n), huge(n)
    one = huge(n)
    one[-1] = 1
    args = (gates, before, cells, one, one, diffs, before_diff, size)
    run_tail("lstm_unit.cu", "lstm_unit_backward", n, *args)
    dc = 1 + (1 - np.tanh(1) ** 2) / 2
    wanted = [0, np.tanh(1) / 4, dc / 4, dc / 4]
    np.testing.assert_allclose(diffs[-1 - size * np.arange(4)], wanted, 1e-6)
    np.testing.assert_allclose(before_diff[-1], dc / 2, 1e-6)


def test_steps_of_plain_recurrent_layers():
    x, y, z = huge(N), huge(N), huge(N)
    x[-1], y[-1] = 0.25, 0.75
    run_tail("rnn_unit.cu", "rnn_unit_forward", N, x, y, z)
    np.testing.assert_allclose(z[-1], np.tanh(1), 1e-6)
    run_tail("rnn_unit.cu", "rnn_unit_backward", N, z, x, y, y)
    np.testing.assert_allclose(y[-1], 1 - np.tanh(1) ** 2, 1e-6)
