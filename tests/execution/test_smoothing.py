import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.execution.smoothing import SmoothedLoss

LOSSES = [4.0, 2.0, 6.0, 1.0, 5.0, 3.0]


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_the_value_is_the_mean_of_the_last_losses(width):
    smoothed = SmoothedLoss(width)
    for i, loss in enumerate(LOSSES):
        smoothed.add(loss)
        last = LOSSES[max(i + 1 - width, 0) : i + 1]
        assert smoothed.value == pytest.approx(sum(last) / len(last))


@pytest.mark.parametrize("width", [0, -3])
def test_there_is_no_mean_of_fewer_losses_than_one(width):
    with pytest.raises(InputError, match=f"average_loss is {width}; .* at least 1"):
        SmoothedLoss(width)
