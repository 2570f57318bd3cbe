import h5py
import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Setting
from prototxt import parse_net
from tests.layers.checks import check_golden, run_net

TEXT = """layer {{ name: "l" type: "HDF5Output" bottom: "a" bottom: "b"
           hdf5_output_param {{ file_name: "{}" }} }}"""


def _read(path):
    with h5py.File(path) as file:
        return {name: file[name][...] for name in file}


def test_a_forward_is_written_when_the_layer_closes(tmp_path):
    path = tmp_path / "out.h5"
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    inputs = {"a": data, "b": [1.0, 2.0, 3.0]}
    net = run_net(TEXT.format(path), inputs, dtype=np.float32)
    assert not path.exists()
    net.layers[-1].close()
    found = _read(path)
    assert found["data"].dtype == found["label"].dtype == np.float32
    np.testing.assert_array_equal(found["data"], data.reshape(3, 2, 1, 1))
    np.testing.assert_array_equal(found["label"].ravel(), [1, 2, 3])
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.h5"]


def test_forwards_add_to_the_file(tmp_path):
    path = tmp_path / "out.h5"
    net = run_net(TEXT.format(path), {"a": np.ones((2, 3)), "b": [1.0, 2.0]})
    net.forward(b=[3.0, 4.0])
    net.layers[-1].close()
    found = _read(path)
    assert found["data"].shape == (4, 3, 1, 1)
    np.testing.assert_array_equal(found["label"].ravel(), [1, 2, 3, 4])


def test_the_file_is_that_of_caffe(golden, corpus, tmp_path, monkeypatch):
    (tmp_path / "files").mkdir()
    monkeypatch.chdir(tmp_path)
    check_golden(golden / "layers" / "HDF5Output__basic.npz")
    found = _read("files/hdf5output_basic.h5")
    expected = _read(corpus / "golden" / "files" / "hdf5output_basic.h5")
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_other_ranks_write_files_of_their_own(tmp_path):
    (spec,) = parse_net(TEXT.format(tmp_path / "out.h5"), "net").message.layer
    layer = LAYERS["HDF5Output"](spec, Setting(rank=2))
    layer.setup([(1, 2), (1,)])
    assert layer.path == str(tmp_path / "out.rank2.h5")


@pytest.mark.parametrize(
    ("name", "records", "message"),
    [
        ("", 2, "hdf5_output_param has no file_name"),
        ("none/out.h5", 2, "'none/out.h5': there is no folder none"),
        ("out.h5", 3, r"bottom.0. has shape .2, 3. and bottom.1. .3,.; their first"),
    ],
)
def test_what_can_not_be_written_is_refused(name, records, message):
    with pytest.raises(LayerError, match=message):
        run_net(TEXT.format(name), {"a": np.ones((2, 3)), "b": np.ones(records)})
