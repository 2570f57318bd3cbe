import gc

import h5py
import numpy as np
import pytest

from geeps_caffe.data.hdf5_output import Hdf5Output
from geeps_caffe.errors import DataError


def test_rows_are_there_after_close_and_not_before(tmp_path):
    path = tmp_path / "out.h5"
    path.write_bytes(b"old")
    output = Hdf5Output(str(path))
    output.append("data", np.ones((2, 3)))
    output.append("data", np.zeros((1, 3)))
    assert path.read_bytes() == b"old"
    output.close()
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"], [[1, 1, 1], [1, 1, 1], [0, 0, 0]])


def test_an_output_that_is_forgotten_is_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = Hdf5Output("out.h5")
    output.append("data", np.ones(2))
    monkeypatch.chdir("/")
    del output
    gc.collect()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.h5"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "none" / "out.h5"
    with pytest.raises(DataError, match=f"HDF5 file '{path}' can't be written"):
        Hdf5Output(str(path))
