"""Our log beside that of the real Caffe, line for line."""

import re
import shutil

import pytest

from tests.end_to_end.program import run

pytestmark = pytest.mark.slow
NUMBER = r"[-+\d.e]+"
TIMES = [
    (re.compile(rf"\({NUMBER} iter/s, {NUMBER}s/"), "(RATE/"),
    (re.compile(rf"(ime|ass|ward): {NUMBER} ms\."), r"\1: TIME"),
]
VALUE = re.compile(r"(?<= = )\d[\d.e+-]*|(?<=oss: )\d[\d.e+-]*")
CASES = [
    ("train", ["train", "--solver=solver.prototxt", "--weights=init.caffemodel"]),
    (
        "train_resume",
        ["train", "--solver=solver.prototxt", "--snapshot=snap_iter_8.solverstate"],
    ),
    (
        "test",
        [
            "test",
            "--model=net.prototxt",
            "--weights=snap_iter_12.caffemodel",
            "--iterations=3",
        ],
    ),
    ("time", ["time", "--model=net.prototxt", "--iterations=3"]),
    (
        "time_test_phase",
        ["time", "--model=net.prototxt", "--iterations=2", "--phase=TEST"],
    ),
    ("device_query", ["device_query"]),
]


def comparable(text):
    """Lines with severity and place, their times replaced, and their values."""
    lines, values = [], []
    for line in text.splitlines():
        line = re.sub(r"^([IWEF])\d{4} [\d:.]+ +\d+ ", r"\1 ", line)
        if line.startswith("I geeps_caffe.py"):
            continue  # a notice that Caffe has not: the data starts at its beginning
        for expression, replacement in TIMES:
            line = expression.sub(replacement, line)
        values += [float(value) for value in VALUE.findall(line)]
        lines.append(VALUE.sub("VALUE", line))
    return lines, values


@pytest.fixture
def folder(corpus, tmp_path):
    copy = tmp_path / "cli"
    shutil.copytree(corpus / "golden" / "cli", copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755)
    return copy


@pytest.mark.parametrize(("name", "arguments"), CASES, ids=[n for n, _ in CASES])
def test_the_log_is_that_of_caffe_line_for_line(folder, name, arguments):
    lines, values = comparable(run(folder, *arguments))
    wanted, wanted_values = comparable((folder / f"{name}.stderr.txt").read_text())
    assert lines == wanted
    if not name.startswith("time"):  # which starts from random weights
        assert values == pytest.approx(wanted_values, rel=1e-3)


@pytest.mark.parametrize("name", ["upgrade_usage"])
def test_usage_of_the_upgrade_tools(folder, name):
    lines, _ = comparable(run(folder, "upgrade_net_proto_text", code=1))
    wanted, _ = comparable((folder / f"{name}.stderr.txt").read_text())
    assert lines == wanted


BAD = [
    (["time", "--model=bad_bottom.prototxt"], ["bad_bottom.prototxt:1", "'r'", "nope"]),
    (["time", "--model=bad_field.prototxt"], ["bad_field.prototxt:1:", "nosuchfield"]),
    (
        ["time", "--model=bad_layer.prototxt"],
        ["bad_layer.prototxt:1", "'x'", "unknown layer type 'NoSuchLayer'", "Pooling"],
    ),
    (
        ["time", "--model=dup_top.prototxt"],
        ["dup_top.prototxt:2", "'b' (DummyData)", "top blob 'x'", "rename"],
    ),
    (
        ["test", "--model=net_mismatch.prototxt", "--weights=init.caffemodel"],
        ["'conv' (Convolution) blob 0", "(4, 1, 3, 3)", "(3, 1, 3, 3)", "Rename"],
    ),
    (["train", "--solver=absent.prototxt"], ["absent.prototxt: no such file"]),
    (
        ["train", "--solver=solver.prototxt", "--snapshot=snap_iter_8.caffemodel"],
        [
            "snap_iter_8.caffemodel",
            "net weights",
            "snap_iter_8.solverstate",
            "--weight",
        ],
    ),
    (
        ["test", "--model=init.caffemodel", "--weights=net.prototxt"],
        ["net.prototxt", "swapped"],
    ),
]


@pytest.mark.parametrize(("arguments", "parts"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_inputs_end_with_one_clear_line(folder, arguments, parts):
    last = run(folder, *arguments, code=3).splitlines()[-1]
    assert last.startswith(f"geeps-caffe {arguments[0]}: ")
    for part in parts:
        assert part in last


def test_weights_given_as_a_snapshot_are_refused_before_anything_is_built(folder):
    flags = ["--solver=solver.prototxt", "--snapshot=snap_iter_8.caffemodel"]
    assert run(folder, "train", *flags, code=3).count("\n") == 1
