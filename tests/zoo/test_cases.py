"""More cases that users of Caffe met, in whole nets on all engines.

C03, C04, C13 and C14 of the catalogue; the others are in tests/examples.
"""

import numpy as np
import pytest

from geeps_caffe.caffe import TEST, TRAIN, Net
from geeps_caffe.errors import LayerError


@pytest.fixture(params=["reference", "onednn"])
def make(request, tmp_path):
    """A function from inputs' shapes and a text to a net."""

    def made(shapes, text, phase=TEST, force=""):
        head = "".join(
            f'layer {{ type: "Input" name: "{name}" top: "{name}" input_param '
            f"{{ shape {{ {' '.join(f'dim: {n}' for n in shape)} }} }} }}\n"
            for name, shape in shapes.items()
        )
        (tmp_path / "net.prototxt").write_text(force + head + text)
        return Net(str(tmp_path / "net.prototxt"), phase, engine=request.param)

    return made


# -- C03: sizes after pooling and convolution ----------------------------------


@pytest.mark.parametrize(
    ("size", "window", "ceil", "floor"),
    [
        (112, "kernel_size: 3 stride: 2", 56, 55),
        (10, "kernel_size: 3 stride: 2", 5, 4),
        (129, "kernel_size: 2 stride: 2", 65, 64),
        (112, "kernel_size: 3 stride: 2 pad: 1", 57, 56),
        (7, "kernel_size: 7 stride: 7", 1, 1),
    ],
)
@pytest.mark.parametrize("mode", ["CEIL", "FLOOR", ""])
def test_c03_pools_round_up_unless_told_otherwise(
    make, size, window, ceil, floor, mode, rng
):
    mode_text = f"round_mode: {mode}" if mode else ""
    net = make(
        {"x": (1, 1, size, size)},
        'layer { name: "p" type: "Pooling" bottom: "x" top: "y" pooling_param '
        f"{{ pool: MAX {window} {mode_text} }} }}",
    )
    net.blobs["x"].data[...] = rng.random((1, 1, size, size))
    net.forward()
    side = floor if mode == "FLOOR" else ceil
    assert net.blobs["y"].shape == (1, 1, side, side)
    assert 0 <= net.blobs["y"].data.min() <= net.blobs["y"].data.max() <= 1


def test_c03_convolutions_round_down(make):
    net = make(
        {"x": (1, 1, 10, 10)},
        'layer { name: "c" type: "Convolution" bottom: "x" top: "y" '
        "convolution_param { num_output: 1 kernel_size: 3 stride: 2 } }",
    )
    assert net.blobs["y"].shape == (1, 1, 4, 4)


# -- C04: bilinear weights -----------------------------------------------------

PROFILES = {3: [1 / 2, 1, 1 / 2], 4: [0.25, 0.75, 0.75, 0.25]}
PROFILES[6] = [1 / 6, 1 / 2, 5 / 6, 5 / 6, 1 / 2, 1 / 6]


@pytest.mark.parametrize("kind", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize("side", PROFILES)
def test_c04_bilinear_kernels_are_products_of_tents(make, kind, side):
    net = make(
        {"x": (1, 2, 8, 8)},
        f'layer {{ name: "c" type: "{kind}" bottom: "x" top: "y" convolution_param '
        f"{{ num_output: 2 kernel_size: {side} weight_filler {{ type: "
        '"bilinear" } } }',
    )
    kernel = np.outer(PROFILES[side], PROFILES[side])
    weights = net.params["c"][0].data
    assert weights.shape == (2, 2, side, side)
    np.testing.assert_allclose(
        weights, np.broadcast_to(kernel, weights.shape), rtol=1e-6
    )


@pytest.mark.parametrize(("group", "inner"), [(2, 1), (1, 2)])
def test_c04_upsampling_needs_a_group_for_each_channel(make, group, inner):
    net = make(
        {"x": (1, 2, 5, 5)},
        'layer { name: "up" type: "Deconvolution" bottom: "x" top: "y" '
        f"convolution_param {{ num_output: 2 group: {group} kernel_size: 4 stride: 2 "
        'pad: 1 bias_term: false weight_filler { type: "bilinear" } } }',
    )
    net.blobs["x"].data[...] = 1
    net.forward()
    assert net.blobs["y"].shape == (1, 2, 10, 10)
    np.testing.assert_allclose(net.blobs["y"].data[:, :, 1:-1, 1:-1], inner, rtol=1e-6)


# -- C13: labels out of range --------------------------------------------------

SCORES = (
    'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "s" inner_product_param '
    '{ num_output: 5 weight_filler { type: "xavier" } } }\n'
    'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "s" bottom: "y" top: "l" '
    "loss_param { %s } }"
)


@pytest.mark.parametrize(
    ("labels", "value", "position"),
    [
        ([0, 1, 4, 5], 5, 3),
        ([0, -1, 2, 3], -1, 1),
        ([-90, 0, 45, 1], -90, 0),
        ([0, 0, 45, 1], 45, 2),
        ([0, 255, 0, 0], 255, 1),
    ],
)
def test_c13_the_first_label_out_of_range_is_named(make, labels, value, position):
    net = make({"x": (4, 3), "y": (4,)}, SCORES % "", TRAIN)
    net.blobs["y"].data[...] = labels
    with pytest.raises(
        LayerError,
        match=rf"'loss' .*label {value} at position \({position},\).*0 to 4",
    ):
        net.forward()


def test_c13_an_ignored_label_may_be_any_number(make):
    net = make({"x": (4, 3), "y": (4,)}, SCORES % "ignore_label: 255", TRAIN)
    net.blobs["y"].data[...] = [0, 255, 4, 255]
    net.forward()
    np.testing.assert_allclose(net.blobs["l"].data, np.log(5), rtol=1e-6)


# -- C14: losses of nets that have diverged ------------------------------------

LOSS = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "s" bottom: "y" top: "l" }'


def test_c14_an_impossible_label_costs_87_and_is_warned_about_once(make, caplog):
    net = make({"s": (1, 2), "y": (1,)}, LOSS, TRAIN, "force_backward: true\n")
    net.blobs["s"].data[...] = [[0, 1000]]
    for _ in range(2):
        net.forward()
    net.backward()
    np.testing.assert_allclose(net.blobs["l"].data, 87.3365, rtol=1e-6)
    np.testing.assert_array_equal(net.blobs["s"].diff, [[-1, 1]])
    (warning,) = caplog.records
    assert "softmax probability underflow, training has diverged" in warning.message


def test_c14_scores_that_are_nan_are_warned_about_once(make, caplog):
    net = make({"s": (1, 2), "y": (1,)}, LOSS, TRAIN, "force_backward: true\n")
    net.blobs["s"].data[...] = [[np.nan, 1]]
    for _ in range(2):
        net.forward()
    assert np.isnan(net.blobs["l"].data)
    (warning,) = caplog.records
    assert "the loss is nan, training has diverged" in warning.message
    assert "seen first in layer 's' (Input)" in warning.message
