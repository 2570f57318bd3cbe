import numpy as np
import pytest

from geeps_caffe.device.tree import add_tree


def added(parts):
    parts = [np.array([p], np.float32) for p in parts]
    kept = [p.copy() for p in parts]
    total = add_tree(parts, np.empty(1, np.float32))
    assert all(np.array_equal(a, b) for a, b in zip(parts, kept, strict=True))
    return total[0]


# 1 + 2**-24 is 1 in single precision, 1 + 2**-23 is not.
HALF, ULP = 2.0**-24, 2.0**-23


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        ((3,), 3),
        ((1, 2), 3),
        ((1, HALF, HALF), 1),  # (1 + half) + half
        ((1, HALF, 0, HALF), 1 + ULP),  # (1 + 0) + (half + half)
        ((1, 0, HALF, HALF), 1),  # (1 + half) + (0 + half)
        ((1, HALF, 0, 0, HALF, HALF), 1 + ULP),  # (1 + half + 0) + (half + half + 0)
    ],
)
def test_even_and_odd_parts_are_added_apart(parts, total):
    assert added(parts) == np.float32(total)


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_the_sum_of_every_nth_part_is_a_node(workers, rng):
    parts = list(rng.standard_normal((16, 1000)).astype(np.float32))
    whole = add_tree(parts, np.empty(1000, np.float32))
    shares = [
        add_tree(parts[rank::workers], np.empty(1000, np.float32)).copy()
        for rank in range(workers)
    ]
    spare = np.empty((3, 1000), np.float32)
    together = add_tree(shares, np.empty(1000, np.float32), spare)
    np.testing.assert_array_equal(together, whole)
