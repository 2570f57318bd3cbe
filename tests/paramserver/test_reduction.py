import numpy as np
import pytest

from geeps_caffe.paramserver.reduction import Reduction


@pytest.mark.parametrize(
    ("reduce", "weights", "expected"),
    [
        ("sum", [1.0, 1.0, 1.0], 1 + 2 + 4),
        ("sum", [9.0, 1.0, 1.0], 1 + 2 + 4),
        ("mean", [1.0, 1.0, 1.0], 7 / 3),
        ("mean", [5.0, 5.0, 5.0], 7 / 3),
        ("mean", [2.0, 1.0, 1.0], (2 + 2 + 4) / 4),
        ("mean", [0.0, 1.0, 0.0], 2.0),
        ("mean", [0.0, 0.0, 0.0], 7 / 3),
    ],
)
def test_updates_become_one(reduce, weights, expected):
    updates = [np.full(3, value) for value in (1.0, 2.0, 4.0)]
    reduction = Reduction(reduce, weights)
    total = reduction.add_up(updates, np.empty(3), np.empty(3))
    np.testing.assert_allclose(total * reduction.scale, expected)
    assert [u[0] for u in updates] == [1.0, 2.0, 4.0]


def test_a_single_update_is_not_touched_whatever_its_weight():
    update = np.array([0.1, 0.2])
    reduction = Reduction("mean", [0.0])
    assert reduction.add_up([update], np.empty(2), np.empty(2)) is update
    assert reduction.scale == 1.0
