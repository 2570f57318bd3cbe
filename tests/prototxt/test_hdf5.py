import h5py
import numpy as np
import pytest

from prototxt.errors import PrototxtError
from prototxt.hdf5 import read_state_hdf5
from prototxt.hdf5_write import write_state_hdf5, write_weights_hdf5
from prototxt.schema import NetParameter
from prototxt.state import read_state
from prototxt.weights import read_weights
from tests.conftest import GOLDEN

WEIGHTS = sorted((GOLDEN / "solvers").glob("*/snap_iter_10.caffemodel.h5"))
STATES = sorted((GOLDEN / "solvers").glob("*/snap_iter_10.solverstate.h5"))


def structure(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.__setitem__(name, describe(item)))
    return found


def describe(item):
    if isinstance(item, h5py.Group):
        return "group"
    value = item[()]
    return (item.shape, str(item.id.get_type().dtype), np.asarray(value).tolist())


def net_of(*names):
    net = NetParameter()
    for name in names:
        net.layer.add(name=name)
    return net


def of_run(path):
    return path.parent.name


@pytest.mark.parametrize("path", WEIGHTS, ids=of_run)
def test_weights_in_hdf5_are_those_in_the_binary_twin(path):
    twin = read_weights(path.with_suffix(""))
    weights = read_weights(path)
    assert {la.name for la in weights.layers} == {la.name for la in twin.layers}
    shared = path.parent.name == "SGD__shared_params"  # once in HDF5, else twice
    for layer in weights.layers:
        blobs = zip(layer.blobs, twin.layer(layer.name).blobs, strict=not shared)
        for blob, other in blobs:
            np.testing.assert_array_equal(blob.array(), other.array())


@pytest.mark.parametrize("path", WEIGHTS, ids=of_run)
def test_a_snapshot_is_written_in_the_layout_of_caffe(path, tmp_path):
    weights = read_weights(path)
    blobs = [[blob.array() for blob in layer.blobs] for layer in weights.layers]
    out = tmp_path / "w.caffemodel.h5"
    write_weights_hdf5(out, weights.net(), blobs)
    assert structure(out) == structure(path)


@pytest.mark.parametrize("path", STATES, ids=of_run)
def test_a_state_is_written_in_the_layout_of_caffe(path, tmp_path):
    state = read_state(path)
    out = tmp_path / "s.solverstate.h5"
    write_state_hdf5(
        out, state.iter, state.learned_net, state.history, state.current_step
    )
    assert structure(out) == structure(path)


def test_a_string_ends_in_a_zero_byte_as_c_writes_it(golden, tmp_path):
    out = tmp_path / "s.solverstate.h5"
    write_state_hdf5(out, 1, "net", [])
    with (
        h5py.File(out) as file,
        h5py.File(golden / "solvers/SGD__mom09/snap_iter_10.solverstate.h5") as caffes,
    ):
        ours = file["learned_net"].id.get_type()
        assert ours.get_size() == 4
        strpad = caffes["learned_net"].id.get_type().get_strpad()
        assert ours.get_strpad() == strpad


def test_layers_with_slashes_are_groups_in_groups_and_come_back(tmp_path):
    out = tmp_path / "w.h5"
    blobs = {
        "conv": [np.float32([1]), np.float32([2])],
        "conv/bn": [np.float32([3])],
        "a/b/c": [np.float32([4])],
    }
    write_weights_hdf5(out, net_of(*blobs, "conv/relu"), [*blobs.values(), []])
    weights = read_weights(out)
    assert {la.name for la in weights.layers} == {*blobs, "conv/relu"}
    for name, expected in blobs.items():
        got = [blob.array() for blob in weights.layer(name).blobs]
        np.testing.assert_array_equal(got, expected)
    assert weights.layer("conv/relu").blobs == ()


def test_a_single_number_comes_back_without_axes(tmp_path):
    """Such as the slope of a PReLU whose channels share it."""
    out, number = tmp_path / "w.h5", np.float32(3).reshape(())
    write_weights_hdf5(out, net_of("c"), [[number]])
    (blob,) = read_weights(out).layer("c").blobs
    assert blob.shape == blob.array().shape == ()
    state = tmp_path / "s.h5"
    write_state_hdf5(state, 1, "net", [number])
    assert [a.shape for a in read_state_hdf5(state).history] == [()]


def test_a_parameter_that_another_layer_owns_is_left_out(tmp_path):
    out = tmp_path / "w.h5"
    write_weights_hdf5(out, net_of("c"), [[None, np.float32([2])]])
    first, second = read_weights(out).layer("c").blobs
    assert first is None
    assert second.array() == [2]


def test_gradients_have_a_group_of_their_own(tmp_path):
    out = tmp_path / "w.h5"
    write_weights_hdf5(out, net_of("c"), [[np.float32([1])]], [[np.float32([5])]])
    (blob,) = read_weights(out).layer("c").blobs
    assert blob.diff() == [5]


def test_a_state_given_as_weights_is_refused(golden):
    path = golden / "solvers/SGD__mom09/snap_iter_10.solverstate.h5"
    with pytest.raises(PrototxtError, match="this is a solverstate, not weights"):
        read_weights(path)


def test_weights_given_as_a_state_name_the_state_beside_them(golden):
    path = golden / "solvers/SGD__mom09/snap_iter_10.caffemodel.h5"
    with pytest.raises(PrototxtError, match=r"to resume give .*solverstate\.h5"):
        read_state(path)


def test_training_data_is_no_weight_file(golden):
    with pytest.raises(PrototxtError, match="no group 'data'"):
        read_weights(golden / "solvers/train.h5")


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "w.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 20)
    with pytest.raises(PrototxtError, match="cannot be read as HDF5"):
        read_weights(path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(PrototxtError, match="no folder"):
        write_weights_hdf5(tmp_path / "no" / "w.h5", net_of(), [])


def test_layers_of_one_name_with_parameters_do_not_fit_one_group(tmp_path):
    blobs = [[np.float32([1])], [np.float32([2])]]
    with pytest.raises(PrototxtError, match="two layers are called 'c'"):
        write_weights_hdf5(tmp_path / "w.h5", net_of("c", "c"), blobs)
