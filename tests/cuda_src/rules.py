"""A rule's kernel beside the solver that NumPy runs: bit for bit."""

import numpy as np

from geeps_caffe.solvers import RULES, Hyper, Updater
from tests.cuda_src.arrays import floats
from tests.cuda_src.build import run

PENALTIES = [("L2", 0.0), ("L2", 5e-4), ("L1", 5e-4)]


def check_rule(type_name, file, penalty, numbers, rng, **fields):
    """Three steps of both; `numbers` are the kernel's, from `Hyper`."""
    kind, decay = penalty
    rule, n = RULES[type_name](), 1000
    weights = floats(rng, n)
    weights[:10] = 0
    mine, theirs = weights.copy(), weights.copy()
    kept = [np.zeros(n, np.float32) for _ in rule.slots]
    slots = [np.zeros(n, np.float32) for _ in rule.slots]
    updater = Updater(rule, np.float32)
    for iteration in range(3):
        grad, scale = floats(rng, n), 0.5
        hyper = Hyper(
            0.01,
            iteration,
            weight_decay=decay,
            regularization_type=kind,
            **fields,
        )
        updater.step(theirs, grad, slots, hyper, scale)
        args = (scale, decay, kind == "L1", *numbers(hyper))
        run(file, file.removesuffix(".cu"), n, mine, grad, *kept, *args)
        np.testing.assert_array_equal(mine, theirs)
        for a, b in zip(kept, slots, strict=True):
            np.testing.assert_array_equal(a, b)
