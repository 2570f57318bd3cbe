import pytest

from geeps_caffe.data.hdf5 import read_file_list
from geeps_caffe.data.image_list import read_image_list
from geeps_caffe.data.listing import read_listing
from geeps_caffe.data.mean import read_mean
from geeps_caffe.data.window_file import read_window_file
from geeps_caffe.errors import DataError

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n"


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (read_image_list, "image list"),
        (read_file_list, "list of HDF5 files"),
        (read_mean, "mean file"),
        (lambda path: read_window_file(path, "", 0.5, 0.5), "window file"),
    ],
)
def test_what_stands_in_the_place_of_a_listing_is_said(tmp_path, read, what):
    path = tmp_path / "given"
    with pytest.raises(DataError, match=f"{what} not found"):
        read(str(path))
    path.write_bytes(POINTER)
    with pytest.raises(DataError, match=f"{what} .*pointer of Git LFS.*git lfs pull"):
        read(str(path))
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match=f"{what} .*: Is a directory"):
        read(str(path))


def test_marks_and_line_ends_of_windows_do_no_harm(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"\xef\xbb\xbfa.jpg 1\r\nb.jpg 2\r\n")
    assert read_listing(str(path), "list") == "a.jpg 1\nb.jpg 2\n"
