"""LeNet on two workers from the command line: logs, files, equality with one."""

import re

import numpy as np
import pytest

from prototxt import read_weights
from tests.end_to_end.digits import make_lenet
from tests.end_to_end.program import messages, run

pytestmark = pytest.mark.slow
TRAIN = ("train", "-solver=solver.prototxt", "-threads=1")


def weights(path):
    return [b.array() for y in read_weights(str(path)).layers for b in y.blobs]


def difference(one, other):
    """The largest, relative to each blob's largest weight."""
    return max(
        np.abs(a - b).max() / np.abs(a).max()
        for a, b in zip(weights(one), weights(other), strict=True)
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A folder in which two workers trained for 200 iterations, and rank 0's log."""
    folder = tmp_path_factory.mktemp("two")
    fields = {"lr_policy": '"fixed"', "display": 100, "test_interval": 200}
    fields |= {"max_iter": 200, "base_lr": 1e-5}
    make_lenet(folder, np.random.default_rng(1), **fields)
    return folder, run(folder, *TRAIN, "-workers=2", "-log_dir=logs")


# How parse_log.py and parse_log.sh of Caffe, and DIGITS, find what they need

LINE = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \S+:\d+\] ")
ITERATION = re.compile(r"Iteration (\d+)")
OUTPUT = re.compile(r"(Train|Test) net output #(\d+): (\S+) = ([\.\deE+-]+)")
RATE = re.compile(r"lr = ([-+]?[0-9]*\.?[0-9]+([eE]?[-+]?[0-9]+)?)")
DIGITS = re.compile(r"^(\w)(\d{4} \S{8}).*]\s+(\S.*)$")


def rows(log):
    """Iterations with outputs, by phase, as parse_log.py collects them."""
    found, iteration = {"Train": [], "Test": []}, -1
    for line in log.splitlines():
        if match := ITERATION.search(line):
            iteration = int(match[1])
        match = OUTPUT.search(line)
        if match and iteration not in found[match[1]]:
            found[match[1]].append(iteration)
    return found


def test_scripts_that_read_caffes_logs_read_rank_0s(two):
    _, log = two
    assert rows(log) == {"Train": [0, 100], "Test": [0, 200]}
    shown = re.findall(r"Iteration (\d+)[^\n]*, loss = ", log)
    assert shown == ["0", "100", "200"]
    assert {match[1] for match in RATE.finditer(log)} == {"1e-05"}
    assert "-nan" not in log


def test_no_line_has_the_name_of_a_rank_before_it(two):
    _, log = two
    lines = log.splitlines()
    start = next(i for i, line in enumerate(lines) if "Starting Optimization" in line)
    for line in lines[start:]:
        assert LINE.match(line), line
        assert DIGITS.match(line), line


def test_the_banner_says_what_an_update_and_an_epoch_are(two):
    _, log = two
    assert (
        "batch 64 x 2 workers x iter_size 1 = 128 images an update; one epoch = 2 "
        "iterations; gradients are averaged"
    ) in messages(log)


def test_other_ranks_write_to_files(two):
    folder, log = two
    other = (folder / "logs" / "rank1.log").read_text()
    assert "Iteration 200, loss = " in other
    assert log.count("Iteration 100, lr") == other.count("Iteration 100, lr") == 1
    assert not (folder / "logs" / "rank0.log").exists()


@pytest.mark.parametrize("workers", [2, 4])
def test_a_snapshot_is_the_same_bytes_for_any_number_of_workers(tmp_path, workers):
    files = []
    for count in (1, workers):
        folder = tmp_path / str(count)
        folder.mkdir()
        make_lenet(folder, np.random.default_rng(1), max_iter=20, snapshot=0)
        shared = ("-batch_mode=global", f"-workers={count}")
        run(folder, "train", "-solver=solver.prototxt", *shared)
        files.append((folder / "lenet_iter_20.caffemodel").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_that_share_the_batch_end_as_one_worker_does(tmp_path, workers):
    snapshots = []
    for count in (1, workers):
        folder = tmp_path / str(count)
        folder.mkdir()
        make_lenet(folder, np.random.default_rng(1), max_iter=20, snapshot=0)
        more = ("-engine=reference", "-dtype=float64", "-batch_mode=global")
        log = run(folder, *TRAIN, *more, f"-workers={count}")
        snapshots.append((folder / "lenet_iter_20.caffemodel", log))
    (one, first), (other, second) = snapshots
    assert difference(one, other) < 1e-6  # the files hold floats
    outputs = [re.findall(r"Test net output .*", log) for log in (first, second)]
    assert len(outputs[0]) == 4
    assert outputs[0] == outputs[1]
