"""LeNet on made digits: from the command line to a snapshot and back."""

import re
import signal

import numpy as np
import pytest

from prototxt import read_weights
from tests.end_to_end.digits import make_lenet
from tests.end_to_end.program import messages, run, start

pytestmark = pytest.mark.slow
TRAIN = ("train", "-solver=solver.prototxt")


def weights(path):
    return {
        (layer.name, i): blob.array()
        for layer in read_weights(str(path)).layers
        for i, blob in enumerate(layer.blobs)
    }


def assert_equal_weights(first, second):
    one, other = weights(first), weights(second)
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key], err_msg=str(key))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder in which LeNet was trained, and the log."""
    folder = tmp_path_factory.mktemp("lenet")
    make_lenet(folder, np.random.default_rng(1))
    return folder, run(folder, *TRAIN)


def test_the_log_tells_the_run_in_caffes_order(trained):
    _, log = trained
    found = messages(log)
    expected = [
        "Use CPU.",
        "Creating training net from net file: train_val.prototxt",
        "Opened lmdb digits_train_lmdb",
        "output data size: 64,1,28,28",
        "Network initialization done.",
        "Creating test net (#0) specified by net file: train_val.prototxt",
        "Solver scaffolding done.",
        "Starting Optimization",
        "Solving LeNet",
        "Learning Rate Policy: inv",
        "Iteration 0, Testing net (#0)",
        "Iteration 0, lr = 0.01",
        "Snapshotting to binary proto file lenet_iter_20.caffemodel",
        "Snapshotting solver state to binary proto file lenet_iter_20.solverstate",
        "Snapshotting to binary proto file lenet_iter_40.caffemodel",
        "Iteration 40, Testing net (#0)",
        "Optimization Done.",
        "Optimization Done.",
    ]
    place = 0
    for line in expected:
        place = found.index(line, place) + 1


def test_it_learns(trained):
    _, log = trained
    accuracies = [float(v) for v in re.findall(r"accuracy = (\S+)", log)]
    assert len(accuracies) == 3
    assert accuracies[-1] >= 0.9


def test_the_test_command_finds_the_accuracy_of_the_training(trained):
    folder, log = trained
    flags = ["-model", "train_val.prototxt", "-weights", "lenet_iter_40.caffemodel"]
    tested = messages(run(folder, "test", *flags, "-iterations", "1"))
    (in_training,) = re.findall(r"accuracy = (\S+)", log)[-1:]
    assert "Running for 1 iterations." in tested
    assert f"Batch 0, accuracy = {in_training}" in tested
    assert f"accuracy = {in_training}" in tested


def test_a_resumed_run_ends_with_the_weights_of_an_unbroken_one(trained, tmp_path):
    folder, _ = trained
    make_lenet(tmp_path, np.random.default_rng(1))
    for end in ("caffemodel", "solverstate", "position"):
        name = f"lenet_iter_20.{end}"
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    log = run(tmp_path, *TRAIN, "--snapshot=lenet_iter_20.solverstate")
    shown = [m for m in messages(log) if re.match(r"Iteration \d+ \(", m)]
    assert shown[0].startswith("Iteration 20 (")
    assert_equal_weights(
        folder / "lenet_iter_40.caffemodel", tmp_path / "lenet_iter_40.caffemodel"
    )


def test_less_memory_gives_the_same_weights(trained, tmp_path):
    folder, _ = trained
    make_lenet(tmp_path, np.random.default_rng(1))
    log = run(tmp_path, *TRAIN, "-memory", "50%")
    assert any("A step runs in" in line for line in messages(log))
    assert_equal_weights(
        folder / "lenet_iter_40.caffemodel", tmp_path / "lenet_iter_40.caffemodel"
    )


def test_time_has_a_line_for_each_layer_and_pass(trained):
    folder, _ = trained
    log = run(folder, "time", "-model=train_val.prototxt", "-iterations=2")
    for layer in ("mnist", "conv1", "pool1", "ip2", "loss"):
        for direction in ("forward", "backward"):
            assert re.search(rf" {layer}\t{direction}: \S+ ms\.", log)


def test_gpu_mode_without_a_gpu_is_said_in_one_line_and_trains(tmp_path):
    make_lenet(
        tmp_path, np.random.default_rng(1), solver_mode="GPU", max_iter=1, test_iter=1
    )
    log = run(tmp_path, *TRAIN)
    said = [line for line in log.splitlines() if "GPU" in line and "mode:" in line]
    advice = [line for line in said if "no usable GPU" in line]
    assert len(advice) == 1
    assert advice[0].startswith("W")


# -- signals -------------------------------------------------------------------


def long_run(folder, *flags):
    """A run that would not end soon, at its first displayed iteration."""
    make_lenet(folder, np.random.default_rng(1), max_iter=100000, display=1, snapshot=0)
    process = start(folder, *TRAIN, *flags)
    read = []
    for line in process.stderr:
        read.append(line)
        if ", lr = " in line:
            return process
    raise AssertionError("".join(read))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_with_a_snapshot(tmp_path, number):
    process = long_run(tmp_path)
    process.send_signal(number)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 6
    assert "Optimization stopped early." in rest
    assert list(tmp_path.glob("lenet_iter_*.solverstate"))


def test_hup_writes_a_snapshot_and_training_goes_on(tmp_path):
    process = long_run(tmp_path)
    process.send_signal(signal.SIGHUP)
    for line in process.stderr:
        if "Snapshotting solver state" in line:
            break
    for line in process.stderr:
        if ", lr = " in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 6
    assert len(list(tmp_path.glob("lenet_iter_*.solverstate"))) == 2


def test_the_effect_of_a_signal_is_a_flag(tmp_path):
    process = long_run(tmp_path, "-sigint_effect", "none", "-sighup_effect", "stop")
    process.send_signal(signal.SIGINT)
    for line in process.stderr:
        if ", lr = " in line:
            break
    process.send_signal(signal.SIGHUP)
    _, rest = process.communicate(timeout=60)
    assert "Optimization stopped early." in rest


def test_a_reader_that_goes_away_does_not_stop_the_training(tmp_path):
    make_lenet(tmp_path, np.random.default_rng(1), max_iter=30, display=1)
    process = start(tmp_path, *TRAIN)
    process.stderr.readline()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert (tmp_path / "lenet_iter_30.caffemodel").exists()


# -- several workers -----------------------------------------------------------


def test_two_workers_share_one_batch_like_one_process(trained, tmp_path):
    folder, _ = trained
    make_lenet(tmp_path, np.random.default_rng(1))
    log = run(tmp_path, *TRAIN, "-workers", "2", "-batch_mode", "global")
    assert " x 2 workers x iter_size 1 = " in log
    one = weights(folder / "lenet_iter_40.caffemodel")
    two = weights(tmp_path / "lenet_iter_40.caffemodel")
    for key, values in one.items():
        bound = 1e-3 * np.abs(values).max() + 1e-5
        assert np.abs(two[key] - values).max() <= bound, key
    assert (tmp_path / "rank1.log").exists()


def test_log_files_are_written_where_glog_would(tmp_path):
    make_lenet(tmp_path, np.random.default_rng(1), max_iter=1)
    logs = tmp_path / "logs"
    logs.mkdir()
    run(tmp_path, *TRAIN, GLOG_logtostderr="0", GLOG_log_dir=str(logs))
    assert "Solving LeNet" in (logs / "caffe.INFO").read_text()
