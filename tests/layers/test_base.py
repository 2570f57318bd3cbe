import numpy as np
import pytest

from geeps_caffe.layers.base import Blob


@pytest.mark.parametrize(
    ("block", "shape"), [((), ()), ((1,), ()), ((4, 3), (2, 3)), ((4, 3), (0, 3))]
)
def test_a_resized_blob_is_the_start_of_its_block(block, shape):
    array = np.zeros(block)
    blob = Blob(array)
    blob.resize(shape)
    blob.data[...] = 1
    assert blob.shape == shape
    assert array.sum() == blob.data.size


def test_a_stand_in_for_what_may_not_be_read_stays_one():
    blob = Blob(np.broadcast_to(np.float32("nan"), (4, 3)))
    blob.resize((2, 3))
    assert blob.shape == (2, 3)
    assert np.isnan(blob.data).all()
