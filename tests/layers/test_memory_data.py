import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Blob, Run
from prototxt import parse_net

TEXT = """layer {{ name: "l" type: "MemoryData" top: "a" top: "b"
           memory_data_param {{ batch_size: {} channels: 1 height: 2 width: 2 }} }}"""


@pytest.fixture
def layer():
    return _layer(2)


def _layer(batch):
    (spec,) = parse_net(TEXT.format(batch), "net").message.layer
    layer = LAYERS["MemoryData"](spec)
    layer.setup([])
    return layer


def _batch(layer):
    top = [Blob(np.empty(shape)) for shape in layer.infer_shapes([])]
    layer.forward(Run(np, [], [], None), [], top)
    return [blob.data for blob in top]


def test_batches_follow_each_other_and_start_again(layer):
    data = np.arange(16.0).reshape(4, 1, 2, 2)
    layer.reset(data, np.arange(4.0))
    for first in (0, 2, 0):
        batch, labels = _batch(layer)
        np.testing.assert_array_equal(batch, data[first : first + 2])
        np.testing.assert_array_equal(labels.ravel(), [first, first + 1])
        assert labels.shape == (2, 1, 1, 1)


def test_new_data_start_at_their_first(layer):
    layer.reset(np.zeros((4, 1, 2, 2)), np.zeros(4))
    _batch(layer)
    layer.reset(np.ones((4, 1, 2, 2)), np.arange(4.0))
    np.testing.assert_array_equal(_batch(layer)[1].ravel(), [0, 1])


def test_without_data_there_is_no_forward(layer):
    with pytest.raises(LayerError, match="no data; call set_input_arrays"):
        _batch(layer)


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        ((4, 1, 2, 3), 4, r"data of shape .4, 1, 2, 3.; expected .'n', 1, 2, 2."),
        ((4, 1, 2, 2), 3, "3 labels for 4 records"),
        ((3, 1, 2, 2), 3, "3 records; expected a multiple of batch_size 2"),
        ((0, 1, 2, 2), 0, "0 records; expected a multiple"),
    ],
)
def test_data_that_do_not_fit_are_refused(layer, data, labels, message):
    with pytest.raises(LayerError, match=message):
        layer.reset(np.zeros(data), np.zeros(labels))


def test_extents_must_be_positive():
    with pytest.raises(LayerError, match=r"must be positive; they are .0, 1, 2, 2."):
        _layer(0)
