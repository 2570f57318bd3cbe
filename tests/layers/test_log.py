import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = 'layer {{ name: "l" type: "Log" bottom: "a" top: "{}" log_param {{ {} }} }}'


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


@pytest.mark.parametrize(
    ("param", "expected"),
    [("", np.log(8)), ("base: 2", 3), ("base: 2 scale: 3 shift: 8", 5)],
)
def test_logarithms_to_the_base(top, param, expected):
    (y,) = run_layer(TEXT.format(top, param), [8.0])
    np.testing.assert_allclose(y, [expected])


def test_gradient_is_that_of_differences(top, rng):
    text = TEXT.format(top, "base: 10 scale: 2 shift: 0.5")
    check_gradient(text, {"a": rng.uniform(0.5, 2, size=(2, 3))})


def test_backward_reads_what_it_declares(top, rng):
    check_backward_reads(TEXT.format(top, ""), {"a": rng.uniform(1, 2, size=(2, 3))})


@pytest.mark.parametrize("base", ["0", "1", "-2"])
def test_a_base_that_has_no_logarithm_is_refused(base):
    with pytest.raises(LayerError, match=r"base .* must be positive and not 1"):
        run_layer(TEXT.format("b", f"base: {base}"), [1.0])
