"""Arrays for the tests of kernels."""

import numpy as np

from geeps_caffe.engines.reference import DEFINITIONS

RTOL = 2e-6


def floats(rng, *shape):
    """Standard normal, float32."""
    return rng.standard_normal(shape).astype(np.float32)


def like(array):
    """An output of the same shape and type that holds nothing of use."""
    return np.full(array.shape, np.nan, array.dtype)


def close(found, wanted, rtol=RTOL):
    """Equal up to single precision, relative to the largest value."""
    scale = float(np.abs(wanted).max(initial=1e-30))
    np.testing.assert_allclose(found, wanted, rtol, rtol * scale)


def define(operation, direction, ports):
    """Run the reference definition of an operation on float64 copies of `ports`."""
    run = getattr(DEFINITIONS[type(operation)], direction)
    wide = {
        name: a.astype(np.float64) if a.dtype == np.float32 else a.copy()
        for name, a in ports.items()
    }
    run(operation, np, wide)
    return wide
