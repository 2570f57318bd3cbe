"""A resumed run is the run that was not interrupted."""

import shutil

import numpy as np
import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import InputError
from geeps_caffe.execution.reports import Notice, StepReached
from prototxt import PrototxtError
from prototxt.state import read_state, write_state
from tests.execution.recordings import inside
from tests.execution.small import NET, Run, make_place, same_weights

KEPT = RunSettings(seed=1, threads=1, keep_all=True)


@pytest.fixture(autouse=True)
def place(tmp_path):
    make_place(tmp_path)
    with inside(tmp_path):
        yield tmp_path


@pytest.mark.parametrize("format", ["BINARYPROTO", "HDF5"])
def test_a_resumed_run_sees_the_records_that_follow(format):
    end = ".h5" if format == "HDF5" else ""
    text = f"snapshot: 3 snapshot_format: {format}"
    with Run(text, settings=KEPT) as first:
        assert first.labels(3) == [[0, 1], [2, 3], [4, 5]]
    with Run("", settings=KEPT) as whole, Run(text, settings=KEPT) as resumed:
        whole.trainer.step(6)
        resumed.trainer.restore(f"solver_iter_3.solverstate{end}")
        assert resumed.trainer.iteration == 3
        assert resumed.labels(3) == [[6, 7], [8, 9], [0, 1]]
        assert same_weights(whole.weights(), resumed.weights())


def test_a_resumed_run_has_the_random_numbers_that_follow(place):
    drops = (
        'bottom: "ip" top: "ip" dropout_param { dropout_ratio: 0.5 } }\nlayer { name'
    )
    net = NET.replace(
        'layer { name: "loss"', f'layer {{ name: "drop" type: "Dropout" {drops}: "loss"'
    )
    (place / "net.prototxt").write_text(net)
    with Run("snapshot: 3") as whole, Run("") as resumed:
        whole.trainer.step(6)
        resumed.trainer.restore("solver_iter_3.solverstate")
        resumed.trainer.step(3)
        assert same_weights(whole.weights(), resumed.weights())


def test_a_state_of_caffes_has_no_position_and_this_is_said(place):
    with Run("snapshot: 3") as first:
        first.trainer.step(3)
    (place / "solver_iter_3.position").unlink()
    with Run("", settings=KEPT) as resumed:
        resumed.trainer.restore("solver_iter_3.solverstate")
        assert [n.text for n in resumed.of(Notice)] == [
            "solver_iter_3.solverstate has no data position: the data starts again at "
            "its first record"
        ]
        assert resumed.labels(2) == [[0, 1], [2, 3]]


def test_a_damaged_position_is_named(place):
    with Run("snapshot: 3") as first:
        first.trainer.step(3)
    (place / "solver_iter_3.position").write_text("{")
    with Run("") as resumed, pytest.raises(InputError, match="remove it to resume"):
        resumed.trainer.restore("solver_iter_3.solverstate")


def test_the_rate_of_the_solver_file_wins():
    with Run("snapshot: 3") as first:
        first.trainer.step(3)
    with Run("base_lr: 0.02") as resumed:
        resumed.trainer.restore("solver_iter_3.solverstate")
        assert resumed.trainer.rate() == pytest.approx(0.02)


def test_a_pair_may_have_been_moved(place):
    with Run('snapshot: 3 snapshot_prefix: "out/a"') as first:
        first.trainer.step(3)
        weights = first.weights()
    (place / "elsewhere").mkdir()
    for path in list((place / "out").iterdir()):
        shutil.move(path, place / "elsewhere")
    with Run("") as resumed:
        resumed.trainer.restore("elsewhere/a_iter_3.solverstate")
        assert same_weights(weights, resumed.weights())
        assert not resumed.of(Notice)  # the position was found beside it


def test_weights_given_as_a_state_are_named_with_what_to_do():
    with Run("snapshot: 3") as first:
        first.trainer.step(3)
    with Run("") as resumed, pytest.raises(PrototxtError) as found:
        resumed.trainer.restore("solver_iter_3.caffemodel")
    assert "to resume give solver_iter_3.solverstate" in str(found.value)
    assert "--weights" in str(found.value)


def test_the_history_of_another_solver_is_refused_and_nothing_is_changed():
    with Run('snapshot: 3 type: "Adam"') as first:
        first.trainer.step(3)
    with Run("") as other:
        before = other.weights()
        with pytest.raises(InputError, match="4 history blobs, this solver needs 2"):
            other.trainer.restore("solver_iter_3.solverstate")
        assert same_weights(before, other.weights())


def test_steps_of_the_rate_go_on_from_those_of_the_state(place):
    policy = 'lr_policy: "multistep" gamma: 0.5 stepvalue: 2 stepvalue: 4 '
    with Run(policy + "snapshot: 3") as first:
        first.trainer.step(6)
        assert [r.step for r in first.of(StepReached)] == [1, 2]
    with Run(policy) as resumed:
        resumed.trainer.restore("solver_iter_3.solverstate")
        resumed.trainer.step(3)
        assert resumed.of(StepReached) == [StepReached(4, 2)]
    state = read_state("solver_iter_3.solverstate")
    with open("other.solverstate", "wb") as file:
        write_state(file, state.iter, state.learned_net, state.history, 0)
    with Run(policy) as resumed:  # Caffe takes one step an iteration
        resumed.trainer.restore("other.solverstate")
        assert resumed.trainer.rate() == np.float32(0.1) * np.float32(0.5)


def test_snapshots_keep_the_step_that_a_run_began_with():
    policy = 'lr_policy: "multistep" gamma: 0.5 stepvalue: 1 snapshot: 3 '
    with Run(policy) as first:
        first.trainer.step(3)
    with Run("snapshot: 1") as fixed:
        fixed.trainer.restore("solver_iter_3.solverstate")
        fixed.trainer.step(1)
    assert read_state("solver_iter_4.solverstate").current_step == 1
