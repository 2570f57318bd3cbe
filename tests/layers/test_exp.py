import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = 'layer {{ name: "l" type: "Exp" bottom: "a" top: "{}" exp_param {{ {} }} }}'


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


@pytest.mark.parametrize(
    ("param", "expected"),
    [("", np.e**2), ("base: 3", 9), ("base: 2 scale: 2 shift: -1", 8)],
)
def test_powers_of_the_base(top, param, expected):
    (y,) = run_layer(TEXT.format(top, param), [2.0, 0.0])
    np.testing.assert_allclose(y[0], expected)


def test_gradient_is_that_of_differences(top, rng):
    text = TEXT.format(top, "base: 3 scale: -0.5 shift: 0.25")
    check_gradient(text, {"a": rng.normal(size=(2, 3))})


def test_backward_reads_what_it_declares(top, rng):
    check_backward_reads(TEXT.format(top, ""), {"a": rng.normal(size=(2, 3))})


@pytest.mark.parametrize("base", ["0", "-2", "nan"])
def test_a_base_that_has_no_powers_is_refused(base):
    with pytest.raises(LayerError, match=r"'l' .Exp.: exp_param base .* positive"):
        run_layer(TEXT.format("b", f"base: {base}"), [1.0])
