"""Running a net as a recording of the real Caffe was made, and comparing."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from geeps_caffe.caffe import TEST, TRAIN, Net

#: Wider bounds, and why: sums of products over time, powers of small sums, and
#: differences of nearly equal numbers lose digits in single precision.
BOUNDS = {"LSTM": 5e-4, "RNN": 5e-4, "LRN": 5e-4, "BatchNorm": 5e-4, "MVN": 5e-4}

FOLDER = Path(__file__).parents[1] / "golden" / "layers"


def recorded_cases():
    """Names of all recordings that do not depend on the real Caffe's random stream."""
    return sorted(
        path.name
        for path in FOLDER.glob("*.npz")
        if "random_seed" not in np.load(path).files
    )


def needs_files(name):
    """Whether a recorded net names files beside it."""
    return "files/" in str(np.load(FOLDER / name)["prototxt"]) or "Python" in name


def check_recording(path, engine, tmp_path):
    """Compare every array of a recorded case with ours."""
    case = np.load(path)
    file = tmp_path / "net.prototxt"
    file.write_text(str(case["prototxt"]))
    net = make_net(case, file, engine)
    rtol = BOUNDS.get(str(case["layer_type"]), 1e-4)
    fill_params(net, case)
    write_inputs(net, case, "in/")
    if "memdata/data" in case.files:
        net.set_input_arrays(case["memdata/data"], case["memdata/label"])
    net.clear_param_diffs()
    net.forward()
    compare(net, case, "top/", rtol)
    compare_params(net, case, "param_after/", rtol)
    if any(name.startswith("topdiff/") for name in case.files):
        backward(net, case)
        compare_diffs(net, case, rtol)
    if any(name.startswith("step2/") for name in case.files):
        for name in keys(case, "step2/in/"):
            net.blobs[name].reshape(*case[f"step2/in/{name}"].shape)
        write_inputs(net, case, "step2/in/")
        net.forward()
        compare(net, case, "step2/top/", rtol)
        compare_params(net, case, "step2/param_after/", rtol)
    for step in range(2, 10):
        if keys(case, f"fwd{step}/top/"):
            net.forward()
            compare(net, case, f"fwd{step}/top/", rtol)


def check_masked_recording(path, engine, tmp_path):
    """Dropout in training: Caffe's mask is its own, but both do the same with one."""
    case = np.load(path)
    file = tmp_path / "net.prototxt"
    file.write_text(str(case["prototxt"]))
    net = make_net(case, file, engine)
    write_inputs(net, case, "in/")
    net.forward()
    out = np.array(net.blobs["out"].data)
    backward(net, case)
    for top, diff in (
        (case["top/out"], case["bottomdiff/data"]),
        (out, net.blobs["data"].diff),
    ):
        kept = top != 0
        assert abs(kept.mean() - 0.6) < 0.14  # four deviations of 200 draws
        close(top, kept * case["in/data"] / np.float32(0.6), 1e-6, "top")
        close(diff, kept * case["topdiff/out"] / np.float32(0.6), 1e-6, "diff")


def make_net(case, file, engine):
    phase = TRAIN if str(case["phase"]) == "TRAIN" else TEST
    state = json.loads(str(case["net_state"])) if "net_state" in case.files else {}
    return Net(
        str(file),
        phase,
        level=state.get("level", 0),
        stages=state.get("stages", ()),
        engine=engine,
    )


def keys(case, prefix):
    return [n.removeprefix(prefix) for n in case.files if n.startswith(prefix)]


def fill_params(net, case):
    for key in keys(case, "param/"):
        layer, index = key.rsplit("/", 1)
        net.params[layer][int(index)].data[...] = case[f"param/{key}"]


def write_inputs(net, case, prefix):
    for name in keys(case, prefix):
        net.blobs[name].data[...] = case[prefix + name]


def backward(net, case):
    for name in keys(case, "topdiff/"):
        net.blobs[name].diff[...] = case[f"topdiff/{name}"]
    net.backward()


def compare(net, case, prefix, rtol):
    for name in keys(case, prefix):
        close(net.blobs[name].data, case[prefix + name], rtol, prefix + name)


def compare_diffs(net, case, rtol):
    for name in keys(case, "bottomdiff/"):
        close(net.blobs[name].diff, case[f"bottomdiff/{name}"], rtol, f"diff {name}")
    for key in keys(case, "paramdiff/"):
        layer, index = key.rsplit("/", 1)
        found = net.params[layer][int(index)].diff
        close(found, case[f"paramdiff/{key}"], rtol, f"paramdiff {key}")


def compare_params(net, case, prefix, rtol):
    for key in keys(case, prefix):
        layer, index = key.rsplit("/", 1)
        found = net.params[layer][int(index)].data
        close(found, case[prefix + key], rtol, prefix + key)


def close(found, wanted, rtol, what):
    assert found.shape == wanted.shape, f"{what}: {found.shape}, not {wanted.shape}"
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(found, wanted, rtol, 1e-5 * scale, err_msg=what)


@contextmanager
def inside(folder):
    """With `folder` as the working directory."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
