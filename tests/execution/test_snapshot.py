"""Where snapshots go and what they hold."""

import numpy as np
import pytest

import prototxt
from geeps_caffe.errors import InputError
from geeps_caffe.execution.snapshot import (
    file_names,
    position_writer,
    prepare_folder,
    read_position,
    snapshot_prefix,
)
from prototxt.state import read_state
from prototxt.weights import read_weights
from tests.execution.recordings import inside
from tests.execution.small import NET, Run, make_place, same_weights


@pytest.fixture(autouse=True)
def place(tmp_path):
    make_place(tmp_path)
    with inside(tmp_path):
        yield tmp_path


def solver(text=""):
    return prototxt.parse_solver(text, "s").message


@pytest.mark.parametrize(
    ("prefix", "path", "expected"),
    [
        ("a/b", "x/solver.prototxt", "a/b"),
        ("", "x/solver.prototxt", "x/solver"),
        ("folder", "x/my.solver.prototxt", "folder/my.solver"),
        ("made/", "x/solver.prototxt", "made/solver"),
        ("", "", "snapshot"),
    ],
)
def test_the_prefix(place, prefix, path, expected):
    (place / "folder").mkdir()
    message = solver(f'snapshot_prefix: "{prefix}"' if prefix else "")
    assert snapshot_prefix(message, path) == expected


def test_names_of_files():
    names = file_names(solver('snapshot_prefix: "p"'), "s.prototxt", 500)
    assert names.weights == "p_iter_500.caffemodel"
    assert names.state == "p_iter_500.solverstate"
    names = file_names(solver("snapshot_format: HDF5"), "s.prototxt", 7)
    assert names.weights == "s_iter_7.caffemodel.h5"
    assert names.state == "s_iter_7.solverstate.h5"


def test_a_missing_folder_is_made_before_training(place):
    with Run('snapshot: 1 snapshot_prefix: "a/b/c"'):
        assert list((place / "a" / "b").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named_before_training(place):
    (place / "file").write_text("")
    with pytest.raises(InputError, match="'file/x': the folder 'file'"):
        Run('snapshot: 1 snapshot_prefix: "file/x"')
    with (
        Run('snapshot_prefix: "file/x" max_iter: 1') as run,
        pytest.raises(InputError, match="snapshots would be lost"),
    ):
        run.trainer.solve()  # there would be one after training
    assert run.trainer.iteration == 0


def test_nobody_needs_a_folder_without_snapshots(place):
    (place / "file").write_text("")
    text = 'snapshot_prefix: "file/x" max_iter: 1 snapshot_after_train: false'
    with Run(text) as run:
        run.trainer.solve()
    assert run.trainer.iteration == 1


def test_the_trial_leaves_nothing(place):
    prepare_folder("new/prefix")
    assert list((place / "new").iterdir()) == []


def test_a_position_is_what_was_written(place):
    content = {"data": {"place": 6, "length": 9}}
    with open("p.position", "wb") as file:
        position_writer(content, 2, 17)(file)
    found = read_position("p.solverstate.h5")
    assert (found["sources"], found["ranks"], found["seed"]) == (content, 2, 17)
    assert read_position("q.solverstate") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        '{"version": 1}',
        '{"version": 2, "sources": {}}',
        '{"version": 1, "sources": [1]}',
        '{"version": 1, "sources": {"data": 5}}',
        '{"version": 1, "sources": {"data": {"place": "6"}}}',
        '{"version": 1, "sources": {"data": {"place": -1}}}',
        '{"version": 1, "sources": {"data": {"place": 10000000000000000000}}}',
    ],
)
def test_what_is_no_position_is_refused(place, text):
    (place / "p.position").write_text(text)
    with pytest.raises(InputError, match=r"p\.position: damaged position file"):
        read_position("p.solverstate")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snapshot: 2 max_iter: 5", [2, 4, 5]),
        ("snapshot: 2 max_iter: 4", [2, 4]),
        ("snapshot: 2 max_iter: 5 snapshot_after_train: false", [2, 4]),
        ("max_iter: 3", [3]),
        ("max_iter: 3 snapshot_after_train: false", []),
    ],
)
def test_when_there_are_snapshots(place, text, expected):
    with Run(text) as run:
        run.trainer.solve()
    found = [read_state(p.name).iter for p in place.glob("*.solverstate")]
    assert sorted(found) == expected


@pytest.mark.parametrize("format", ["BINARYPROTO", "HDF5"])
def test_diffs_are_the_last_updates_on_request(place, format):
    text = f"snapshot: 2 snapshot_diff: true snapshot_format: {format}"
    end = ".h5" if format == "HDF5" else ""
    with Run(text) as run:
        run.trainer.step(1)
        before = run.weights()
        run.trainer.step(1)
        after = run.weights()
    blobs = read_weights(f"solver_iter_2.caffemodel{end}").layers
    found = {layer.name: layer.blobs for layer in blobs if layer.blobs}
    for i, blob in enumerate(found["ip"]):
        update = before[f"ip/{i}"] - after[f"ip/{i}"]
        np.testing.assert_allclose(blob.diff(), update, rtol=1e-6, atol=1e-9)
        assert np.abs(blob.diff()).max() > 0


def test_without_the_request_there_are_no_diffs():
    with Run("snapshot: 1") as run:
        run.trainer.step(1)
    layers = read_weights("solver_iter_1.caffemodel").layers
    assert all(blob.diff() is None for layer in layers for blob in layer.blobs)


SHARED = """
layer { name: "again" type: "InnerProduct" bottom: "data" top: "again"
  param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 10 } }
layer { name: "second" type: "SoftmaxWithLoss" bottom: "again" bottom: "label"
  top: "second" }
"""


@pytest.mark.parametrize("format", ["BINARYPROTO", "HDF5"])
def test_a_net_with_shared_params_comes_back(place, format):
    named = 'param { name: "w" } param { name: "b" } inner_product_param'
    net = NET.replace("inner_product_param", named, 1) + SHARED
    (place / "net.prototxt").write_text(net)
    end = ".h5" if format == "HDF5" else ""
    with Run(f"snapshot: 2 snapshot_format: {format}") as run:
        run.trainer.step(4)
        weights = run.weights()
    with Run("") as resumed:
        resumed.trainer.restore(f"solver_iter_2.solverstate{end}")
        resumed.trainer.step(2)
        assert same_weights(weights, resumed.weights())
