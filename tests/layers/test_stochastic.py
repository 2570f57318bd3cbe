import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer


def layer(text):
    return (
        'layer { name: "l" type: "Pooling" bottom: "a" top: "b" '
        f"pooling_param {{ pool: STOCHASTIC {text} }} }}"
    )


@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
@pytest.mark.parametrize(
    "text", ["kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2"]
)
def test_stochastic_gradient_and_reads(phase, text, rng):
    text, x = layer(text), rng.uniform(0.1, 1, (2, 2, 5, 6))
    check_gradient(text, {"a": x}, phase=phase)
    check_backward_reads(text, {"a": x}, phase=phase)


def test_stochastic_draws_pixels_by_their_values():
    x = np.tile([[[[1.0, 3.0]]]], (4000, 1, 1, 1))
    (y,) = run_layer(layer("kernel_h: 1 kernel_w: 2"), x)
    assert set(np.unique(y)) == {1.0, 3.0}
    assert (y == 3).mean() == pytest.approx(0.75, abs=0.03)


def test_stochastic_takes_the_expectation_in_testing():
    x = [[[[1.0, 3.0], [0.0, 0.0]]]]
    text = layer("kernel_h: 1 kernel_w: 2")
    (y,) = run_layer(text, x, phase="TEST")
    np.testing.assert_allclose(y[0, 0, :, 0], [10 / 4, 0])
