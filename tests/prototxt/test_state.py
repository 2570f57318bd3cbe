import io
import shutil

import numpy as np
import pytest

from prototxt.errors import PrototxtError
from prototxt.state import State, read_state, write_state


def test_a_state_of_caffe_is_read(golden):
    folder = golden / "solvers" / "SGD__mom09"
    state = read_state(folder / "snap_iter_10.solverstate")
    result = np.load(folder / "result.npz")
    assert state.iter == int(result["state/iter"]) == 10
    assert state.current_step == int(result["state/current_step"])
    assert state.learned_net == "SGD__mom09/snap_iter_10.caffemodel"
    assert len(state.history) == 4
    for index, array in enumerate(state.history):
        np.testing.assert_array_equal(array, result[f"history/10/{index}"])


def test_a_state_is_written_as_caffe_writes_it_byte_for_byte(golden):
    paths = sorted((golden / "solvers").glob("*/*.solverstate"))
    assert paths
    for path in paths:
        state = read_state(path)
        out = io.BytesIO()
        write_state(
            out, state.iter, state.learned_net, state.history, state.current_step
        )
        assert out.getvalue() == path.read_bytes()


def test_weights_given_as_a_state_name_the_state_beside_them(golden):
    path = golden / "solvers/SGD__mom09/snap_iter_10.caffemodel"
    with pytest.raises(PrototxtError) as caught:
        read_state(path)
    text = str(caught.value)
    assert "holds net weights, not a solverstate" in text
    assert f"to resume give {path.with_suffix('.solverstate')}" in text
    assert "--weights" in text


def test_weights_without_a_state_beside_them_name_none(golden, tmp_path):
    path = tmp_path / "w_iter_5.caffemodel"
    shutil.copy(golden / "upgrade/v1_weights.caffemodel", path)
    with pytest.raises(PrototxtError) as caught:
        read_state(path)
    assert "to resume give" not in str(caught.value)


def test_text_given_as_a_state_is_refused(golden):
    with pytest.raises(PrototxtError, match="text file where a solverstate"):
        read_state(golden / "upgrade/solver_adam.prototxt")


def test_the_weights_of_a_moved_state_are_found_beside_it(tmp_path):
    weights = tmp_path / "snap_iter_5.caffemodel"
    weights.touch()
    path = str(tmp_path / "snap_iter_5.solverstate")
    state = State(path, 5, "elsewhere/snap_iter_5.caffemodel", (), 0)
    assert state.weights_path() == weights


def test_weights_that_are_nowhere_are_named(tmp_path):
    state = State(str(tmp_path / "s.solverstate"), 5, "gone/w.caffemodel", (), 0)
    with pytest.raises(PrototxtError, match=r"gone/w\.caffemodel"):
        state.weights_path()


def test_weights_that_are_not_beside_the_state_are_named_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PrototxtError) as caught:
        State("s.solverstate", 5, "w.caffemodel", (), 0).weights_path()
    assert str(caught.value).count("w.caffemodel") == 1
    assert "put it beside the state" in str(caught.value)


def test_a_state_goes_through_a_file(tmp_path):
    path = tmp_path / "s.solverstate"
    write_state(path, 7, "w", [np.float32([[1, 2]]), np.float32([3])], 2)
    state = read_state(path)
    assert (state.iter, state.learned_net, state.current_step) == (7, "w", 2)
    np.testing.assert_array_equal(state.history[0], [[1, 2]])
