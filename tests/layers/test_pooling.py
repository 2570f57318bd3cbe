import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

WINDOWS = {
    "plain": "kernel_size: 2 stride: 2",
    "overlap": "kernel_size: 3 stride: 2",
    "padded": "kernel_size: 3 stride: 2 pad: 1",
    "clipped": "kernel_size: 2 stride: 3 pad: 1",
    "floor": "kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR",
    "not square": "kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2 pad_h: 1 pad_w: 0",
    "global": "global_pooling: true",
}


def layer(text, tops='top: "b"'):
    return (
        f'layer {{ name: "l" type: "Pooling" bottom: "a" {tops} '
        f"pooling_param {{ {text} }} }}"
    )


@pytest.fixture(params=WINDOWS.values(), ids=WINDOWS)
def window(request):
    return request.param


@pytest.fixture
def inputs(rng):
    return {"a": rng.permutation(2 * 2 * 7 * 6).reshape(2, 2, 7, 6) / 10}


@pytest.mark.parametrize("method", ["MAX", "AVE"])
def test_gradient_is_that_of_differences(method, window, inputs):
    check_gradient(layer(f"pool: {method} {window}"), inputs)


@pytest.mark.parametrize("method", ["MAX", "AVE"])
def test_backward_reads_what_it_declares(method, window, inputs):
    check_backward_reads(layer(f"pool: {method} {window}"), inputs)


def windows_of(net, shape):
    """For each output place: the padded and the clipped window (Caffe's rule)."""
    geometry = net.layers[1].geometry
    for row, column in np.ndindex(*net.data["b"].shape[2:]):
        begin = [
            i * s - p
            for i, s, p in zip(
                (row, column), geometry.stride, geometry.pad, strict=True
            )
        ]
        edges = zip(begin, geometry.kernel, shape[2:], geometry.pad, strict=True)
        end = [min(b + k, n + p) for b, k, n, p in edges]
        size = (end[0] - begin[0]) * (end[1] - begin[1])
        inner = tuple(
            slice(max(b, 0), min(e, n))
            for b, e, n in zip(begin, end, shape[2:], strict=True)
        )
        yield (row, column), inner, size


def test_max_is_the_largest_of_each_clipped_window(window, inputs):
    net = run_net(layer(window), inputs)
    for place, inner, _ in windows_of(net, (2, 2, 7, 6)):
        expected = inputs["a"][(..., *inner)].max(axis=(2, 3))
        np.testing.assert_allclose(net.data["b"][(..., *place)], expected)


def test_mean_is_over_the_window_clipped_to_the_padded_image(window, inputs):
    net = run_net(layer(f"pool: AVE {window}"), inputs)
    for place, inner, size in windows_of(net, (2, 2, 7, 6)):
        expected = inputs["a"][(..., *inner)].sum(axis=(2, 3)) / size
        np.testing.assert_allclose(net.data["b"][(..., *place)], expected)


def test_the_second_top_has_the_place_of_each_maximum_and_ties_go_to_the_first():
    x = np.array([[[[1, 5, 2], [3, 5, 7], [0, 0, 7]]]])
    y, mask = run_layer(layer("kernel_size: 2", 'top: "b" top: "m"'), x)
    np.testing.assert_array_equal(y[0, 0], [[5, 7], [5, 7]])
    np.testing.assert_array_equal(mask[0, 0], [[1, 5], [4, 5]])


def test_negative_values_win_over_the_padding():
    x = -np.ones((1, 1, 2, 2))
    (y,) = run_layer(layer("kernel_size: 2 stride: 2 pad: 1"), x)
    np.testing.assert_array_equal(y, -np.ones((1, 1, 2, 2)))


def test_a_max_window_without_a_pixel_gives_the_least_number_as_in_caffe():
    x = np.ones((1, 1, 5, 5))
    text = layer("kernel_size: 1 stride: 3")
    (y,) = run_layer(text, x, dtype=np.float32)
    assert y.shape == (1, 1, 3, 3)
    assert y[0, 0, 2, 2] == np.finfo(np.float32).min
    check_backward_reads(text, {"a": x})


def test_global_pooling_follows_the_size_of_the_bottom(rng):
    net = run_net(
        layer("pool: AVE global_pooling: true"), {"a": rng.normal(size=(2, 3, 4, 5))}
    )
    x = rng.normal(size=(1, 3, 6, 2))
    net.forward(a=x)
    np.testing.assert_allclose(net.data["b"], x.mean(axis=(2, 3), keepdims=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            layer("pool: STOCHASTIC kernel_size: 2 pad: 1"),
            "STOCHASTIC takes no padding",
        ),
        (
            layer("pool: AVE kernel_size: 2", 'top: "b" top: "m"'),
            "only pool: MAX has a",
        ),
    ],
)
def test_wrong_parameters_are_explained(text, message):
    with pytest.raises(LayerError, match=message):
        run_net(text, {"a": np.zeros((1, 1, 4, 4))})


def test_a_bottom_without_four_axes_is_explained():
    with pytest.raises(LayerError, match=r"the bottom is \(3, 4\); expected 4 axes"):
        run_net(layer("kernel_size: 2"), {"a": np.zeros((3, 4))})
