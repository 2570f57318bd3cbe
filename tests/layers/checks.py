"""What is asked of every layer: gradients, what backward reads, Caffe's recordings."""

import json
import shutil
import sys
from contextlib import chdir, contextmanager

import numpy as np

from geeps_caffe.engines.reference import DEFINITIONS
from tests.interpreter import Interpreter


def net_text(text, inputs):
    """`text` with an Input layer for each input before it, and force_backward."""
    lines = ["force_backward: true"]
    for name, value in inputs.items():
        dims = " ".join(f"dim: {extent}" for extent in np.shape(value))
        lines.append(
            f'layer {{ name: "{name}" type: "Input" top: "{name}" '
            f"input_param {{ shape {{ {dims} }} }} }}"
        )
    return "\n".join([*lines, text])


def run_net(text, inputs=None, params=None, phase="TRAIN", dtype=np.float64, seed=1):
    """A net after one forward; params not given are random, statistics positive."""
    inputs = inputs or {}
    net = Interpreter(net_text(text, inputs), phase, dtype=dtype)
    _set_params(net, params or {}, np.random.default_rng(seed))
    net.forward(**inputs)
    return net


def run_layer(text, *bottoms, params=(), phase="TRAIN", dtype=np.float64):
    """The tops of one layer, whose bottoms are named a, b, c, ... in `text`."""
    inputs = {"abcdefgh"[i]: np.asarray(value) for i, value in enumerate(bottoms)}
    net = Interpreter(net_text(text, inputs), phase, dtype=dtype)
    if params:
        _set_params(net, {net.specs[-1].name: params}, None)
    net.forward(**inputs)
    return [blob.data for blob in net.tape[0].top]


def _set_params(net, params, rng):
    for name, blobs in net.params.items():
        for i, blob in enumerate(blobs):
            if name in params:
                blob.data[...] = np.reshape(params[name][i], blob.shape)
            elif net.states[name][i]:
                blob.data[...] = rng.uniform(0.5, 1.5, blob.shape)
            else:
                blob.data[...] = rng.normal(size=blob.shape)


# -- gradients by differences -----------------------------------------------------


def check_gradient(
    text,
    inputs,
    *,
    params=None,
    phase="TRAIN",
    step=1e-5,
    rtol=1e-5,
    atol=1e-7,
    seed=1,
    most=60,
):
    """Compare backward with central differences of a random sum of the outputs.

    `text` holds layers over the blobs of `inputs`. Every bottom that keeps a gradient
    and every learnable param is compared, at `most` places chosen by chance.
    """
    net = run_net(text, inputs, params, phase, seed=seed)
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(size=net.data[name].shape) for name in net.outputs}
    net.backward(weights)
    wanted = _gradients(net, inputs)
    assert wanted, "nothing here has a gradient"

    def total():
        net.iteration = 0
        data = net.forward()
        return sum(float((data[name] * w).sum()) for name, w in weights.items())

    with _params_kept(net) as restore:
        for what, (array, gradient) in wanted.items():
            flat = array.reshape(-1)
            for place in rng.permutation(flat.size)[:most]:
                slope = _difference(total, restore, flat, place, step)
                found = gradient.reshape(-1)[place]
                np.testing.assert_allclose(
                    found, slope, rtol, atol, err_msg=f"{what}, element {place}"
                )
        restore()
        total()
    return net


def _gradients(net, inputs):
    """By name: (the array that is changed, its gradient)."""
    net.inputs = {k: np.array(v, np.float64) for k, v in inputs.items()}
    found = {
        f"bottom {name!r}": (value, net.diff[name].copy())
        for name, value in net.inputs.items()
        if name in net.diff
    }
    for name, blobs in net.params.items():
        for i, blob in enumerate(blobs):
            if not net.states[name][i]:
                found[f"param {i} of {name!r}"] = (blob.data, blob.diff.copy())
    return found


@contextmanager
def _params_kept(net):
    """Statistics go back to where they were, so that each forward sees the same."""
    states = [
        (blob, blob.data.copy())
        for name, blobs in net.params.items()
        for blob, state in zip(blobs, net.states[name], strict=True)
        if state
    ]

    def restore():
        for blob, value in states:
            blob.data[...] = value

    yield restore
    restore()


def _difference(total, restore, flat, place, step):
    value = flat[place]
    sums = []
    for moved in (value + step, value - step):
        flat[place] = moved
        restore()
        sums.append(total())
    flat[place] = value
    return (sums[0] - sums[1]) / (2 * step)


# -- what backward reads ----------------------------------------------------------


def check_backward_reads(text, inputs, *, params=None, phase="TRAIN", seed=1):
    """Gradients must not change when what backward need not read is overwritten."""
    expected = _backward(text, inputs, params, phase, seed, spoil=False)
    found = _backward(text, inputs, params, phase, seed, spoil=True)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def _backward(text, inputs, params, phase, seed, spoil):
    net = run_net(text, inputs, params, phase, seed=seed)
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(size=net.data[name].shape) for name in net.outputs}
    if spoil:
        _spoil(net, rng)
    net.backward(weights)
    found = {f"bottom {name!r}": net.diff[name] for name in inputs if name in net.diff}
    for name, blobs in net.params.items():
        found |= {f"param {i} of {name!r}": b.diff for i, b in enumerate(blobs)}
    return found


def _spoil(net, rng):
    """Garbage into each array that no layer's backward declares as read."""
    read, arrays = set(), []
    for call in net.tape:
        reads = declared_reads(call.layer)
        for kind, blobs in (("bottom", call.bottom), ("top", call.top)):
            for i, blob in enumerate(blobs):
                arrays.append(blob.data)
                if kind in reads or f"{kind}{i}" in reads:
                    read.add(_memory(blob.data))
        if call.layer.operation() is None or "param" in reads:
            read |= {_memory(blob.data) for blob in call.run.params}
        arrays += [blob.data for blob in call.run.params]
    for array in arrays:
        if _memory(array) not in read:
            array[...] = 1e6 + 1e5 * rng.normal(size=array.shape)


def declared_reads(layer):
    """What backward of `layer` reads, by itself or by its operation."""
    operation = layer.operation()
    if operation is None:
        return layer.backward_reads
    return DEFINITIONS[type(operation)].reads


def _memory(array):
    return array.__array_interface__["data"][0]


# -- Caffe's recordings -----------------------------------------------------------


def check_golden(path, files=None, rtol=1e-4, atol=1e-5):
    """Replay one recording of tests/golden/layers and compare every number in it.

    `files` is a folder with the files that the prototxt names by relative paths.
    Of cases that depend on Caffe's random stream only the shapes are compared.
    """
    with np.load(path) as archive:
        golden = {key: archive[key] for key in archive.files}
    with chdir(files) if files else _here(), _importable(files):
        GoldenRun(golden, rtol, atol).run()


def golden_with_files(path, corpus, tmp_path, **tolerance):
    """check_golden in a fresh folder that holds a copy of the corpus' files/."""
    shutil.copytree(corpus / "golden" / "files", tmp_path / "files")
    for place in (tmp_path / "files", *(tmp_path / "files").iterdir()):
        place.chmod(0o755)
    check_golden(path, files=tmp_path, **tolerance)


@contextmanager
def _here():
    yield


@contextmanager
def _importable(folder):
    """Modules of folder/files can be imported (Python layers)."""
    before = list(sys.path)
    if folder:
        sys.path.insert(0, str(folder / "files"))
    yield
    sys.path[:] = before


class GoldenRun:
    """The procedure by which a recording was made, on the Interpreter."""

    def __init__(self, golden, rtol, atol):
        self.golden, self.rtol, self.atol = golden, rtol, atol
        self.random = "random_seed" in golden
        state = json.loads(str(golden["net_state"])) if "net_state" in golden else {}
        self.net = Interpreter(
            str(golden["prototxt"]),
            str(golden["phase"]),
            state.get("level", 0),
            tuple(state.get("stages", ())),
        )

    def run(self):
        """All that was recorded, in its order."""
        inputs = self.part("in/")
        self.set_memory_data()
        self.set_params()
        self.net.forward(**inputs)
        self.compare("top/", self.net.data)
        self.compare_params("param_after/")
        self.compare_loss("loss")
        if str(self.golden["mode"]) != "forward_only":
            self.backward()
        self.further_forwards()

    def backward(self):
        """Diffs that Caffe allocates and never writes are recorded as zeros."""
        self.net.backward(self.part("topdiff/"))
        blobs = {
            name: self.net.diff.get(name, np.zeros_like(value))
            for name, value in self.part("bottomdiff/").items()
        }
        self.compare("bottomdiff/", blobs)
        for key, value in self.part("paramdiff/").items():
            layer, index = key.rsplit("/", 1)
            self.equal(
                f"paramdiff/{key}", self.net.params[layer][int(index)].diff, value
            )

    def further_forwards(self):
        """The same net again: with new inputs (step2), or the next batches (fwdN)."""
        for prefix in ("step2/", "fwd2/", "fwd3/", "fwd4/", "fwd5/"):
            if self.part(prefix):
                self.net.forward(**self.part(f"{prefix}in/"))
                self.compare(f"{prefix}top/", self.net.data)
                self.compare_params(f"{prefix}param_after/")

    def part(self, prefix):
        return {
            key[len(prefix) :]: value
            for key, value in self.golden.items()
            if key.startswith(prefix)
        }

    def set_params(self):
        for key, value in self.part("param/").items():
            layer, index = key.rsplit("/", 1)
            blob = self.net.params[layer][int(index)]
            assert blob.data.size == value.size, f"param {key}: {blob.shape}"
            blob.data[...] = value.reshape(blob.shape)

    def set_memory_data(self):
        if "memdata/data" in self.golden:
            self.net.layers[0].reset(
                self.golden["memdata/data"], self.golden["memdata/label"]
            )

    def compare(self, prefix, found):
        for name, value in self.part(prefix).items():
            self.equal(f"{prefix}{name}", found[name], value)

    def compare_params(self, prefix):
        for key, value in self.part(prefix).items():
            layer, index = key.rsplit("/", 1)
            self.equal(prefix + key, self.net.params[layer][int(index)].data, value)

    def compare_loss(self, key):
        in_place = any(call.in_place for call in self.net.tape)
        if not in_place and not self.random:
            self.equal(key, np.float32(self.net.loss()), self.golden[key])

    def equal(self, what, found, expected):
        assert found.shape == expected.shape, (
            f"{what}: shape {found.shape}, Caffe's is {expected.shape}"
        )
        if not self.random:
            np.testing.assert_allclose(
                found, expected, self.rtol, self.atol, err_msg=what
            )
