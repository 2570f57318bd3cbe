import numpy as np
import pytest

from geeps_caffe.device.philox import Stream
from geeps_caffe.errors import LayerError
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Blob, Run
from prototxt import LayerParameter
from tests.layers.checks import check_backward_reads, run_layer, run_net

TEXT = """layer {{ name: "l" type: "Dropout" bottom: "a" top: "{}"
           dropout_param {{ dropout_ratio: {} {} }} }}"""


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.9])
def test_about_the_ratio_is_dropped_and_the_rest_scaled(top, ratio):
    (y,) = run_layer(TEXT.format(top, ratio, ""), np.ones((100, 100)))
    kept = y != 0
    assert abs(kept.mean() - (1 - ratio)) < 0.02
    np.testing.assert_allclose(y[kept], 1 / (1 - ratio), rtol=1e-6)


def test_the_diff_has_the_same_mask(top):
    net = run_net(TEXT.format(top, 0.4, ""), {"a": np.ones((5, 20))})
    value = net.data[top].copy()
    net.backward({top: np.ones((5, 20))})
    np.testing.assert_array_equal(net.diff["a"], value)


def test_in_test_nothing_happens(top):
    x = np.arange(6.0).reshape(2, 3)
    net = run_net(TEXT.format(top, 0.5, ""), {"a": x}, phase="TEST")
    np.testing.assert_array_equal(net.data[top], x)
    net.backward({top: x})
    np.testing.assert_array_equal(net.diff["a"], x)


def test_segnet_drops_in_test_too():
    text = TEXT.format("b", 0.5, "sample_weights_test: true")
    (y,) = run_layer(text, np.ones((10, 10)), phase="TEST")
    assert set(np.unique(y)) == {0, 2}


def test_backward_reads_what_it_declares(top, rng):
    check_backward_reads(TEXT.format(top, 0.5, ""), {"a": rng.normal(size=(2, 3))})


def _forward(records, iteration=0):
    spec = LayerParameter(name="l", type="Dropout", bottom=["a"], top=["b"])
    layer, shape = LAYERS["Dropout"](spec), (len(records), 50)
    layer.setup([shape])
    top = Blob(np.empty(shape))
    stream = Stream(1, 7, iteration, np.array(records))
    run = Run(np, [], [np.empty(shape, bool)], stream, iteration)
    layer.forward(run, [Blob(np.ones(shape))], [top])
    return top.data


def test_the_mask_of_a_record_is_the_same_on_whatever_worker():
    whole = _forward([0, 1, 2, 3])
    np.testing.assert_array_equal(_forward([1, 3]), whole[[1, 3]])
    assert (_forward([0, 1, 2, 3], iteration=1) != whole).any()


@pytest.mark.parametrize("ratio", [1.0, -0.1, 2])
def test_a_ratio_that_is_no_share_is_refused(ratio):
    with pytest.raises(LayerError, match=r"dropout_ratio .* at least 0 and below 1"):
        run_layer(TEXT.format("b", ratio, ""), [1.0])
