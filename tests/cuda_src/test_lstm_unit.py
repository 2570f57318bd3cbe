import numpy as np

from geeps_caffe.engines.reference.functions import ArrayFunctions
from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run


def test_a_step_and_back(rng):
    n, size = 3, 5
    sums, before = floats(rng, n, 4 * size), floats(rng, n, size)
    cont = np.array([1, 0, 1], np.float32)
    gates, cells, shown = sums.copy(), like(before), like(before)
    args = (gates, before, cont, cells, shown, size)
    run("lstm_unit.cu", "lstm_unit_forward", n * size, *args)
    wanted = [a.astype(float) for a in (sums, before, cont, cells, shown)]
    ArrayFunctions().lstm_step(*wanted)
    close(gates, wanted[0])
    close(cells, wanted[3])
    close(shown, wanted[4])
    diffs = (floats(rng, n, size), floats(rng, n, size))
    wide = np.empty_like(wanted[0]), np.empty_like(wanted[1])
    ArrayFunctions().lstm_step_back(*wanted[:2], wanted[3], diffs, *wide)
    sums_diff, before_diff = like(sums), diffs[0]  # which may be the same
    args = (gates, before, cells, *diffs, sums_diff, before_diff, size)
    run("lstm_unit.cu", "lstm_unit_backward", n * size, *args)
    close(before_diff, wide[1], 5e-6)
    close(sums_diff, wide[0], 5e-6)
