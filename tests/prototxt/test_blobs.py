import numpy as np
import pytest

from prototxt.blobs import index_blob
from prototxt.errors import PrototxtError
from prototxt.schema import BlobProto
from prototxt.wire import Wire


def stored(content):
    if not isinstance(content, bytes):
        content = content.SerializeToString()
    return index_blob(Wire(content, "f"), 0, len(content))


def test_packed_values_have_the_shape_that_is_given():
    blob = BlobProto(data=[1, 2, 3, 4, 5, 6])
    blob.shape.dim.extend([2, 3])
    array = stored(blob).array()
    np.testing.assert_array_equal(array, [[1, 2, 3], [4, 5, 6]])
    assert array.dtype == np.float32
    assert array.flags.aligned and array.flags.writeable


def test_the_old_four_sizes_are_a_shape():
    blob = stored(BlobProto(num=1, channels=2, height=1, width=3, data=range(6)))
    assert blob.shape == (1, 2, 1, 3)
    assert blob.legacy


def test_values_without_a_shape_are_flat():
    assert stored(BlobProto(data=[1, 2])).shape == (2,)
    assert stored(BlobProto(data=[1])).shape == ()


def test_double_values_are_read_as_single():
    blob = BlobProto(double_data=[0.1, 2])
    np.testing.assert_array_equal(stored(blob).array(), np.float32([0.1, 2]))


def test_values_with_a_tag_each_are_read():
    values = np.arange(1000, dtype=np.float32)
    content = b"".join(b"\x2d" + v.tobytes() for v in values) + b"\x08\x01\x10\x0a"
    blob = stored(content + b"\x18\x0a\x20\x0a")
    assert blob.shape == (1, 10, 10, 10)
    np.testing.assert_array_equal(blob.array().ravel(), values)


def test_several_runs_of_values_are_joined():
    halves = BlobProto(data=[1, 2]).SerializeToString()
    content = halves + BlobProto(data=[3]).SerializeToString() + b"\x2d\0\0\x80\x40"
    np.testing.assert_array_equal(stored(content).array(), [1, 2, 3, 4])


def test_gradients_are_read_if_there_are_any():
    assert stored(BlobProto(data=[1, 2])).diff() is None
    blob = stored(BlobProto(data=[1, 2], diff=[3, 4]))
    np.testing.assert_array_equal(blob.diff(), [3, 4])


@pytest.mark.parametrize(("kind", "dtype"), [(0, "<f8"), (1, "<f4"), (2, "<f2")])
def test_raw_values_of_nvcaffe_are_read(kind, dtype):
    raw = np.array([0.5, -2], dtype).tobytes()
    blob = BlobProto(raw_data_type=kind, raw_data=raw)
    np.testing.assert_array_equal(stored(blob).array(), [0.5, -2])


def test_an_empty_array_has_no_values():
    blob = BlobProto()
    blob.shape.dim.extend([0, 3])
    assert stored(blob).array().shape == (0, 3)


def test_a_shape_that_does_not_fit_the_values_is_refused():
    blob = BlobProto(data=[1, 2, 3])
    blob.shape.dim.extend([2, 2])
    with pytest.raises(PrototxtError, match=r"the shape \(2, 2\) has 4 values, but 3"):
        stored(blob).array()


def test_a_huge_shape_takes_no_memory():
    blob = BlobProto(data=[1])
    blob.shape.dim.extend([2**40, 2**40])
    with pytest.raises(PrototxtError, match="but 1 are stored"):
        stored(blob).array()


def test_a_negative_size_is_refused():
    with pytest.raises(PrototxtError, match="negative size"):
        stored(BlobProto(num=-1, data=[1]))


def test_values_that_are_not_whole_floats_are_refused():
    with pytest.raises(PrototxtError, match="no whole number"):
        stored(b"\x2a\x03abc")


def test_numbers_where_floats_belong_are_refused():
    with pytest.raises(PrototxtError, match="not floats"):
        stored(b"\x28\x01")
    with pytest.raises(PrototxtError, match="a value of 8 bytes"):
        stored(b"\x29" + b"\0" * 8)
