import numpy as np

from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run


def test_a_step_and_back(rng):
    a, b, c = (floats(rng, 3, 4) for _ in range(3))
    out, dx = like(a), like(a)
    run("rnn_unit.cu", "rnn_unit_forward", 12, a, b, out)
    close(out, np.tanh((a + b).astype(float)))
    run("rnn_unit.cu", "rnn_unit_backward", 12, out, b, c, dx)
    close(dx, (b + c) * (1 - out * out))
