import numpy as np
import pytest

from tests.layers.checks import run_layer

TEXT = """layer {{ name: "l" type: "Threshold" bottom: "a" top: "{}"
           threshold_param {{ threshold: 0.5 }} }}"""


@pytest.mark.parametrize("top", ["a", "b"])
def test_only_what_is_above_the_threshold_counts(top):
    (y,) = run_layer(TEXT.format(top), [-1.0, 0.5, 0.6, 2.0])
    np.testing.assert_array_equal(y, [0, 0, 1, 1])
