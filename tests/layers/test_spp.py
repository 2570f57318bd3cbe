import numpy as np
import pytest

from geeps_caffe.caffe import TRAIN, Net
from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net


def layer(text):
    return (
        f'layer {{ name: "l" type: "SPP" bottom: "a" top: "b" spp_param {{ {text} }} }}'
    )


def test_levels_follow_one_another():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    (y,) = run_layer(layer("pyramid_height: 2"), x)
    np.testing.assert_array_equal(y, [[15, 5, 7, 13, 15]])


def test_a_single_level_keeps_its_spatial_axes():
    (y,) = run_layer(layer("pyramid_height: 1 pool: AVE"), np.ones((2, 3, 4, 5)))
    assert y.shape == (2, 3, 1, 1)


@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
@pytest.mark.parametrize("method", ["MAX", "AVE", "STOCHASTIC"])
def test_gradient_and_reads(method, phase, rng):
    x = (1 + rng.permutation(2 * 2 * 8 * 4).reshape(2, 2, 8, 4)) / 10
    text = layer(f"pyramid_height: 3 pool: {method}")
    check_gradient(text, {"a": x}, phase=phase)
    check_backward_reads(text, {"a": x}, phase=phase)


def test_windows_follow_the_size_of_the_bottom(rng):
    text = layer("pyramid_height: 2")
    net = run_net(text, {"a": rng.normal(size=(1, 1, 4, 4))})
    x = rng.normal(size=(2, 1, 7, 9))
    net.forward(a=x)
    np.testing.assert_array_equal(net.data["b"], run_layer(text, x)[0])
    assert net.data["b"].shape == (2, 5)


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("", (1, 1, 4, 4), "pyramid_height is 0 or missing"),
        ("pyramid_height: 2", (4, 4), r"the bottom is \(4, 4\); expected 4 axes"),
        (
            "pyramid_height: 3",
            (1, 1, 3, 8),
            "too small for 4 windows along an axis of 3; reduce pyramid_height to 2",
        ),
    ],
)
def test_wrong_parameters_are_explained(text, shape, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text), {"a": np.zeros(shape)})


HALVES = slice(0, 2), slice(2, 5)  # of 5 rows, padded by one in front
NET = """
layer { name: "in" type: "Input" top: "x" top: "wanted" input_param {
  shape { dim: 4 dim: 2 dim: 5 dim: 5 } shape { dim: 4 } } }
layer { name: "few" type: "Filter" bottom: "x" bottom: "wanted" top: "few" }
layer { name: "spp" type: "SPP" bottom: "few" top: "spp" spp_param {
  pyramid_height: 2 pool: MAX } }
"""


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_it_takes_as_many_items_as_a_filter_leaves(tmp_path, rng, engine):
    path = tmp_path / "net.prototxt"
    path.write_text(NET)
    net = Net(str(path), TRAIN, engine=engine)
    x = rng.standard_normal((4, 2, 5, 5)).astype(np.float32)
    net.blobs["x"].data[...] = x
    net.blobs["wanted"].data[...] = [0, 1, 0, 1]
    net.forward()
    few = x[[1, 3]]
    windows = [few, *(few[:, :, r, c] for r in HALVES for c in HALVES)]
    first, *others = (window.max(axis=(2, 3)) for window in windows)
    expected = np.hstack([first, np.stack(others, axis=2).reshape(2, -1)])
    np.testing.assert_array_equal(net.blobs["spp"].data, expected)
