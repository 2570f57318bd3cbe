from itertools import product

import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import (
    check_backward_reads,
    check_gradient,
    run_layer,
    run_net,
)

#: parameters, shape of the bottom
CASES = {
    "plain": ("num_output: 4 kernel_size: 3", (2, 2, 5, 6)),
    "1-d": ("num_output: 3 kernel_size: 3 stride: 2 pad: 1", (2, 2, 7)),
    "3-d": ("num_output: 2 kernel_size: 2 stride: 2 pad: 1", (1, 2, 3, 4, 3)),
    "4-d": ("num_output: 2 kernel_size: 2", (1, 2, 3, 2, 3, 2)),
    "no spatial axes": ("num_output: 3 kernel_size: 3", (4, 5)),
    "group": ("num_output: 4 kernel_size: 2 group: 2", (2, 6, 3, 3)),
    "depthwise": ("num_output: 3 kernel_size: 3 pad: 1 group: 3", (2, 3, 3, 4)),
    "dilation": ("num_output: 2 kernel_size: 2 dilation: 3 dilation: 2", (1, 2, 5, 6)),
    "no bias": ("num_output: 2 kernel_size: 1 bias_term: false", (2, 3, 2, 2)),
    "two batch axes": ("num_output: 2 kernel_size: 2 axis: 2", (2, 3, 2, 4, 4)),
    "negative axis": ("num_output: 2 kernel_size: 2 axis: -3", (2, 2, 3, 3)),
    "stands over": ("num_output: 2 kernel_size: 4 stride: 3", (1, 2, 3, 5)),
    "gaps": ("num_output: 2 kernel_size: 1 stride: 3", (1, 2, 6, 5)),
}


def layer(text, more=""):
    return (
        f'layer {{ name: "l" type: "Convolution" bottom: "a" top: "b" {more} '
        f"convolution_param {{ {text} }} }}"
    )


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request, rng):
    text, shape = request.param
    return layer(text), {"a": rng.normal(size=shape)}


def plain(operation, x, w, bias):
    """The sum written out, for one record (C, spatial ...)."""
    k, stride, group = operation.kernel, operation.stride, operation.group
    padded = np.pad(x, [(0, 0), *((p, p) for p in operation.pad)])
    span = [(n - 1) * d + 1 for n, d in zip(k, operation.dilation, strict=True)]
    over = [max(0, e - n) for n, e in zip(padded.shape[1:], span, strict=True)]
    padded = np.pad(padded, [(0, 0), *((0, n) for n in over)])
    out = [
        (n - e) // s + 1 for n, e, s in zip(padded.shape[1:], span, stride, strict=True)
    ]
    y = np.zeros((len(w), *out))
    for o, place in product(range(len(w)), product(*map(range, out))):
        first = o // (len(w) // group) * w.shape[1]
        window = padded[
            (
                slice(first, first + w.shape[1]),
                *(
                    slice(p * s, p * s + e, d)
                    for p, s, e, d in zip(
                        place, stride, span, operation.dilation, strict=True
                    )
                ),
            )
        ]
        y[(o, *place)] = (window * w[o]).sum() + bias[o]
    return y


def test_each_top_value_is_the_sum_over_its_window(case):
    net = run_net(*case)
    operation = net.layers[1].operation()
    w, *bias = [blob.data for blob in net.params["l"]]
    axes = len(operation.kernel) + 1
    x, y = net.data["a"], net.data["b"]
    records = x.reshape(-1, *x.shape[x.ndim - axes :])
    expected = [
        plain(operation, record, w, bias[0] if bias else np.zeros(len(w)))
        for record in records
    ]
    np.testing.assert_allclose(y.reshape(-1, *y.shape[y.ndim - axes :]), expected)


def test_gradient_is_that_of_differences(case):
    check_gradient(*case)


def test_backward_reads_what_it_declares(case):
    check_backward_reads(*case)


TWO = """layer { name: "l" type: "Convolution" bottom: "a" bottom: "b" top: "c" top: "d"
         convolution_param { num_output: 2 kernel_size: 2 } }"""


def test_two_bottoms_meet_the_same_weights(rng):
    a, b = rng.normal(size=(2, 1, 2, 3, 3))
    net = check_gradient(TWO, {"a": a, "b": b})
    check_backward_reads(TWO, {"a": a, "b": b})
    weights = [blob.data for blob in net.params["l"]]
    text = layer("num_output: 2 kernel_size: 2")
    (alone,) = run_layer(text, b, params=weights)
    np.testing.assert_allclose(net.data["d"], alone)


def test_large_images_are_laid_out_in_parts(rng, monkeypatch):
    x = rng.normal(size=(5, 2, 4, 4))
    text = layer("num_output: 3 kernel_size: 3 group: 1")
    whole = run_net(text, {"a": x}).data["b"]
    monkeypatch.setattr("geeps_caffe.engines.reference.convolution.COLUMN_BYTES", 2000)
    np.testing.assert_allclose(run_net(text, {"a": x}).data["b"], whole)
    check_gradient(text, {"a": x})


def test_group_2_with_a_bilinear_kernel_enlarges_without_a_change_of_values():
    tent = np.outer([0.25, 0.75, 0.75, 0.25], [0.25, 0.75, 0.75, 0.25])
    text = layer(
        "num_output: 2 kernel_size: 4 stride: 2 pad: 1 group: 2 bias_term: false"
    ).replace('"Convolution"', '"Deconvolution"')
    (y,) = run_layer(text, np.ones((1, 2, 4, 4)), params=[np.stack([[tent], [tent]])])
    np.testing.assert_allclose(y[:, :, 1:-1, 1:-1], 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel_size: 3", "num_output is 0 and group 1; both must be at least 1"),
        ("num_output: 4 kernel_size: 3 group: 0", "group 0; both must be"),
        (
            "num_output: 4 kernel_size: 1 group: 2",
            "group 2 does not divide the 3 of the",
        ),
        (
            "num_output: 4 kernel_size: 1 group: 3",
            "group 3 does not divide the 4 of the",
        ),
        ("num_output: 4 kernel_size: 9", "covers 9 pixels of spatial axis 0"),
        ("num_output: 4 kernel_size: 1 axis: 4", "axis 4 is outside of the bottom's 4"),
        (
            'num_output: 4 kernel_size: 1 weight_filler { type: "xvier" }',
            "weight_filler: unknown filler 'xvier'",
        ),
        (
            'num_output: 4 kernel_size: 1 bias_filler { type: "bilinear" }',
            "bias_filler: filler 'bilinear' needs 4 axes",
        ),
    ],
)
def test_wrong_parameters_are_explained(text, message):
    with pytest.raises(LayerError, match=rf"^layer 'l' \(Convolution\).*{message}"):
        run_net(layer(text), {"a": np.zeros((1, 3, 5, 5))})


def test_bottoms_of_unlike_shapes_are_explained():
    with pytest.raises(LayerError, match="all bottoms must have one shape"):
        run_net(TWO, {"a": np.zeros((1, 2, 3, 3)), "b": np.zeros((1, 2, 3, 4))})


def test_channels_must_stay_when_the_bottom_is_reshaped():
    net = run_net(layer("num_output: 2 kernel_size: 1"), {"a": np.zeros((1, 2, 3, 3))})
    with pytest.raises(LayerError, match="the weights are for 2 channels at axis 1"):
        net.forward(a=np.zeros((1, 3, 3, 3)))
