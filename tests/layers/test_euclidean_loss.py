import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = """layer { name: "l" type: "EuclideanLoss" bottom: "a" bottom: "b" top: "c"
          loss_weight: 3 }"""


def test_loss_is_half_the_mean_squared_distance():
    (y,) = run_layer(TEXT, [[1.0, 2], [3, 4]], [[0.0, 0], [3, 8]])
    assert y == (1 + 4 + 16) / 2 / 2


def test_both_bottoms_get_a_gradient(rng):
    inputs = {"a": rng.normal(size=(2, 3, 2)), "b": rng.normal(size=(2, 6))}
    net = check_gradient(TEXT, inputs)
    assert {"a", "b"} <= net.diff.keys()


def test_backward_reads_what_it_declares(rng):
    inputs = {"a": rng.normal(size=(2, 3)), "b": rng.normal(size=(2, 3))}
    check_backward_reads(TEXT, inputs)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((2, 4), "records must have as many elements"), ((3, 2), "records, must agree")],
)
def test_bottoms_of_other_sizes_are_refused(shape, message):
    with pytest.raises(LayerError, match=message):
        run_layer(TEXT, np.zeros((2, 3)), np.zeros(shape))
