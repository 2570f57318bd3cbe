"""The recorded corners of every layer type on the double, its order checked."""

import pytest

from tests.cuda_double.fixtures import double
from tests.execution.corners import CASES, check_corner

__all__ = ["double"]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", CASES)
def test_a_layer_computes_what_caffe_computed(name, tmp_path):
    check_corner(name, "cuda", tmp_path)
