"""HDF5 files that are damaged, or made to harm who reads them."""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prototxt.errors import PrototxtError
from prototxt.hdf5 import read_state_hdf5, read_weights_hdf5
from tests.conftest import GOLDEN

RUN = GOLDEN / "solvers" / "SGD__mom09"


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "w.h5", "w") as opened:
        yield opened


@pytest.fixture
def state(file):
    file["iter"] = np.array([3], "<i4")
    file["learned_net"] = np.bytes_("net")
    file.create_group("history")
    return file


def read_weights(file):
    file.flush()
    weights = read_weights_hdf5(file.filename)
    return {la.name: [blob.array() for blob in la.blobs] for la in weights.layers}


def read_state(file):
    file.flush()
    return read_state_hdf5(file.filename)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["caffemodel", "solverstate"]),
    st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)),
        min_size=1,
        max_size=5,
    ),
)
def test_damaged_files_are_read_or_refused_but_never_break(
    tmp_path_factory, ending, changes
):
    content = bytearray((RUN / f"snap_iter_10.{ending}.h5").read_bytes())
    for place, byte in changes:
        content[int(place * len(content))] = byte
    path = tmp_path_factory.mktemp("damaged") / "file.h5"
    path.write_bytes(content)
    try:
        if ending == "solverstate":
            read_state_hdf5(path)
        else:
            for layer in read_weights_hdf5(path).layers:
                for blob in filter(None, layer.blobs):
                    blob.array()
                    blob.diff()
    except PrototxtError:
        pass


def test_an_array_larger_than_the_file_is_refused_before_memory_is_taken(file):
    shape = (1 << 20, 1 << 20)
    file.create_dataset("data/c/0", shape, "<f4", chunks=(64, 64))  # none is written
    with pytest.raises(PrototxtError, match=r"4,398,046,511,104 bytes, but .* holds 0"):
        read_weights(file)


def test_a_history_larger_than_the_file_is_refused_before_memory_is_taken(state):
    state.create_dataset("history/0", (1 << 40,), "<f4", chunks=(1024,))
    with pytest.raises(PrototxtError, match="'history/0' has the shape"):
        read_state(state)


def test_packed_arrays_are_read(file):
    zeros = np.zeros(1 << 20, np.float32)
    file.create_dataset("data/c/0", data=zeros, compression="gzip", compression_opts=9)
    assert read_weights(file)["c"][0].shape == (1 << 20,)


def test_an_array_with_a_number_beyond_all_is_refused(file):
    file["data/c/99999999999999"] = np.float32([1])
    with pytest.raises(PrototxtError, match="'data/c/99999999999999': no layer has"):
        read_weights(file)


def test_digits_of_other_scripts_are_no_numbers_of_arrays(file):
    file["data/c/0"] = np.float32([1])
    file["data/c/\u00b2"] = np.float32([2])
    assert read_weights(file) == {"c": [1]}


@pytest.mark.parametrize("name", ["a/in_itself", "b"])
def test_a_group_that_stands_in_two_places_is_refused(file, name):
    file["data/a/0"] = np.float32([1])
    file[f"data/{name}"] = file["data/a"]
    with pytest.raises(PrototxtError, match=f"'data/{name}' stands in another place"):
        read_weights(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iter", np.array([], "<i4")),
        ("iter", np.array([np.inf])),
        ("iter", b"3"),
        ("learned_net", 3),
        ("learned_net", np.bytes_(b"\xff")),
        ("history", 3),
        ("history/0", b"text"),
        ("history/7", np.float32([1])),
    ],
)
def test_what_is_of_another_kind_is_refused(state, name, value):
    if name in state:
        del state[name]
    state[name] = value
    with pytest.raises(PrototxtError, match=r"w\.h5"):
        read_state(state)


def test_a_group_where_an_array_belongs_is_named(state):
    state.create_group("history/0")
    with pytest.raises(PrototxtError, match="'history/0' is not the array that"):
        read_state(state)


def test_what_the_fixture_makes_is_a_state(state):
    state["history/0"] = np.float32([1, 2])
    found = read_state(state)
    assert (found.iter, found.learned_net) == (3, "net")
    np.testing.assert_array_equal(found.history, [[1, 2]])
