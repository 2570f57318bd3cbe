import os

import h5py
import numpy as np
import pytest

from geeps_caffe.data.hdf5 import Hdf5Files, read_file_list
from geeps_caffe.errors import DataError


@pytest.fixture
def write(tmp_path):
    """Writes an HDF5 file of these data sets; returns its path."""

    def make(name, **sets):
        with h5py.File(tmp_path / name, "w") as file:
            for key, values in sets.items():
                file[key] = values
        return str(tmp_path / name)

    return make


@pytest.fixture
def files(write):
    """Rows 0 to 2 and 3 to 7, in two files."""
    a = write("a.h5", x=np.arange(3), y=np.arange(6).reshape(3, 2))
    b = write("b.h5", x=np.arange(3.0, 8), y=np.arange(6, 16).reshape(5, 2))
    files = Hdf5Files([a, b], ["y", "x"])
    yield files
    files.close()


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [7, 8, 9], [5, 1, 1, 6, 2], [3]])
def test_rows_are_read_across_files_and_past_the_end(files, rows):
    y, x = files.read(np.array(rows))
    expected = np.array(rows) % 8
    assert x.tolist() == expected.tolist()
    np.testing.assert_array_equal(y, np.stack([2 * expected, 2 * expected + 1], 1))
    assert x.dtype == y.dtype == np.float32


def test_lengths_and_shapes_are_known(files):
    assert (len(files), files.rows, files.shapes) == (8, [3, 5], ((2,), ()))


def test_a_missing_data_set_is_told_with_those_that_are_there(write):
    path = write("a.h5", data=np.zeros(3))
    with pytest.raises(DataError, match="unknown data set 'dat'; did you mean 'data'"):
        Hdf5Files([path], ["dat"])


def test_tops_of_different_length_are_refused(write):
    path = write("a.h5", x=np.zeros(3), y=np.zeros(4))
    with pytest.raises(DataError, match="'y' has 4 rows, 'x' has 3"):
        Hdf5Files([path], ["x", "y"])


def test_files_of_different_shape_are_refused(write):
    paths = [write("a.h5", x=np.zeros((3, 2))), write("b.h5", x=np.zeros((3, 4)))]
    with pytest.raises(DataError, match=r"b\.h5' has rows of shape \[\(4,\)\]"):
        Hdf5Files(paths, ["x"])


@pytest.mark.parametrize("values", [np.float32(3), b"text", np.zeros((0, 2))])
def test_what_has_no_rows_is_refused(write, values):
    with pytest.raises(DataError, match=r"no array of numbers|has no rows"):
        Hdf5Files([write("a.h5", x=values)], ["x"])


def test_the_list_names_files(tmp_path):
    (tmp_path / "list").write_text("a.h5\nb.h5 \n")
    assert read_file_list(str(tmp_path / "list")) == ["a.h5", "b.h5"]


def test_a_file_in_the_place_of_the_list_is_recognised(write):
    with pytest.raises(DataError, match="is an HDF5 file itself"):
        read_file_list(write("a.h5", x=np.zeros(3)))


def test_missing_and_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("")
    with pytest.raises(DataError, match="HDF5 file not found"):
        Hdf5Files([str(tmp_path / "absent.h5")], ["x"])
    with pytest.raises(DataError, match="is no HDF5 file"):
        Hdf5Files([str(tmp_path / "text")], ["x"])
    with pytest.raises(DataError, match="is empty"):
        read_file_list(str(tmp_path / "text"))
    with pytest.raises(DataError, match="list of HDF5 files not found"):
        read_file_list(str(tmp_path / "absent"))


def test_a_long_list_does_not_keep_all_files_open(write):
    paths = [write(f"{n}.h5", x=np.array([n])) for n in range(20)]
    files = Hdf5Files(paths, ["x"])
    before = len(os.listdir("/proc/self/fd"))
    assert files.read(np.arange(40))[0].tolist() == 2 * list(range(20))
    assert len(os.listdir("/proc/self/fd")) - before <= 8
    files.close()


def flipped(content, number):
    """The content with one of its bits turned, another one for each number."""
    place = np.random.default_rng(number).integers(8 * len(content))
    bits = np.unpackbits(np.frombuffer(content, np.uint8))
    bits[place] ^= 1
    return np.packbits(bits).tobytes()


def test_damage_is_told_wherever_it_is_met(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        values = np.arange(600.0).reshape(100, 6)
        file.create_dataset("x", data=values, chunks=(10, 6), compression="gzip")
    content, told = path.read_bytes(), []
    for number in range(400):
        path.write_bytes(flipped(content, number))
        try:
            files = Hdf5Files([str(path)], ["x"])
            files.read(np.arange(100))
            files.close()
        except DataError as error:
            told.append(str(error))
    assert all("a.h5" in text for text in told)
    assert sum("is damaged" in text for text in told) > 100
