import numpy as np

from geeps_caffe.layers.lstm_unit import hidden, step, step_back
from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run


def test_a_step_and_back(rng):
    n, size = 3, 5
    sums, before = floats(rng, n, 4 * size), floats(rng, n, size)
    cont = np.array([1, 0, 1], np.float32)
    values, cells, shown = like(sums), like(before), like(before)
    args = (sums, before, cont, values, cells, shown, size)
    run("lstm_unit.cu", "lstm_unit_forward", n * size, *args)
    gates = sums.astype(float)
    wanted = step(np, gates, before.astype(float), cont[:, None])
    close(cells, wanted)
    close(values, gates)
    close(shown, hidden(np, gates, wanted))
    diffs = (floats(rng, n, size), floats(rng, n, size))
    sums_diff, before_diff, wide = like(sums), like(before), np.empty_like(gates)
    args = (values, before, cells, *diffs, sums_diff, before_diff, size)
    run("lstm_unit.cu", "lstm_unit_backward", n * size, *args)
    close(before_diff, step_back(np, gates, before, wanted, diffs, wide), 5e-6)
    close(sums_diff, wide, 5e-6)
