import numpy as np
import pytest

from geeps_caffe.data.mean import read_mean, write_mean
from geeps_caffe.errors import DataError
from prototxt.schema import BlobProto


def test_what_is_written_is_read(tmp_path, rng):
    mean = rng.standard_normal((3, 4, 5)).astype(np.float32)
    (tmp_path / "mean").write_bytes(write_mean(mean))
    np.testing.assert_array_equal(read_mean(str(tmp_path / "mean")), mean)


@pytest.mark.parametrize(
    "blob",
    [
        {"num": 1, "channels": 1, "height": 1, "width": 2, "data": [1, 2]},
        {"shape": {"dim": [1, 1, 1, 2]}, "data": [1, 2]},
        {"shape": {"dim": [1, 1, 2]}, "double_data": [1, 2]},
    ],
)
def test_all_forms_of_a_blob_are_read(tmp_path, blob):
    (tmp_path / "mean").write_bytes(BlobProto(**blob).SerializeToString())
    np.testing.assert_array_equal(read_mean(str(tmp_path / "mean")), [[[1, 2]]])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no message", "is no mean image"),
        (b"", "0 values"),
        (BlobProto(shape={"dim": [2, 2]}, data=[1]).SerializeToString(), "1 values"),
        (BlobProto(shape={"dim": [2, 1, 1, 1]}, data=[1, 2]).SerializeToString(), "sh"),
    ],
)
def test_other_files_are_refused(tmp_path, content, said):
    (tmp_path / "mean").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_mean(str(tmp_path / "mean"))


def test_a_missing_file_is_told_with_near_names(tmp_path):
    (tmp_path / "mean.binaryproto").write_bytes(b"")
    with pytest.raises(DataError, match=r"near names there: 'mean\.binaryproto'"):
        read_mean(str(tmp_path / "mena.binaryproto"))
