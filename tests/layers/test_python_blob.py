import numpy as np
import pytest

from geeps_caffe.layers.python_blob import UserBlob, UserBlobs


def test_the_extents_have_caffe_s_names():
    blob = UserBlob((2, 3, 4))
    assert (blob.num, blob.channels, blob.height, blob.width) == (2, 3, 4, 1)
    assert (blob.count, blob.shape) == (24, (2, 3, 4))


def test_a_shape_that_fits_keeps_the_values():
    blob = UserBlob((2, 3))
    blob.data[...] = np.arange(6).reshape(2, 3)
    blob.reshape(3, 1)
    np.testing.assert_array_equal(blob.data, [[0], [1], [2]])
    blob.reshape(2, 3)
    assert blob.data[1, 2] == 5


def test_a_blob_grows():
    blob = UserBlob()
    blob.reshape(2, 3)
    assert blob.data.shape == blob.diff.shape == (2, 3)


def test_it_stands_for_another_array():
    array = np.zeros(4)
    blob = UserBlob()
    blob.show(array)
    blob.reshape(2)
    blob.data[...] = 1
    np.testing.assert_array_equal(array, [1, 1, 0, 0])


def test_a_diff_written_early_is_taken_over_once():
    blob, diff = UserBlob((2,)), np.full(2, 9.0)
    blob.diff[0] = 5
    blob.show_diff(diff)
    np.testing.assert_array_equal(diff, [5, 0])
    blob.forget_diff()
    assert not blob.diff.any()


def test_blobs_are_added():
    blobs = UserBlobs()
    blobs.add_blob(2, 3)
    assert [blob.shape for blob in blobs] == [(2, 3)]


def test_a_shape_has_no_extents_below_0():
    with pytest.raises(ValueError, match=r"reshape\(-1, 2\): expected extents of 0"):
        UserBlob((2, 2)).reshape(-1, 2)
