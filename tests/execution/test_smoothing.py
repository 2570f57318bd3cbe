import pytest

from geeps_caffe.execution.smoothing import SmoothedLoss

LOSSES = [4.0, 2.0, 6.0, 1.0, 5.0, 3.0]


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_the_value_is_the_mean_of_the_last_losses(width):
    smoothed = SmoothedLoss(width)
    for i, loss in enumerate(LOSSES):
        smoothed.add(loss)
        last = LOSSES[max(i + 1 - width, 0) : i + 1]
        assert smoothed.value == pytest.approx(sum(last) / len(last))


def test_a_width_below_one_is_one():
    smoothed = SmoothedLoss(0)
    smoothed.add(4)
    smoothed.add(2)
    assert smoothed.value == 2
