"""The recorded corners of every layer type, on the engines of the CPU."""

import pytest

from tests.execution.corners import CASES, check_corner


@pytest.mark.parametrize("engine", ["reference", "onednn"])
@pytest.mark.parametrize("name", CASES)
def test_a_layer_computes_what_caffe_computed(name, engine, tmp_path):
    check_corner(name, engine, tmp_path)
