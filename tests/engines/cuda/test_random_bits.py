"""Layers draw the same numbers on a GPU as on other engines."""

import numpy as np
import pytest

from geeps_caffe.caffe import TRAIN, Net
from tests.cuda_double.fixtures import double

__all__ = ["double"]

NET = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 3 dim: 7 } } }
layer { name: "drop" type: "Dropout" bottom: "x" top: "y" }
"""


@pytest.mark.usefixtures("double")
def test_dropout_has_the_same_mask(tmp_path):
    (tmp_path / "net.prototxt").write_text(NET)
    found = []
    for engine in ("cuda", "reference"):
        net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine=engine)
        net.blobs["x"].data[...] = 1
        found.append([np.array(net.forward()["y"]) for _ in range(3)])
    np.testing.assert_array_equal(*found)
    assert {0.0, 2.0} == set(np.unique(found))
