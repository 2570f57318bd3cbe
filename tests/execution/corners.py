"""Corners of layers, recorded from Caffe's own layers, replayed on planned nets.

tests/golden/corners.npz holds nets of one layer type each with random parameters, and
what Caffe made of random numbers in them, in double precision: negative axes, scalars,
single pixels, odd channels, blobs with two readers, layers in place, convolutions
before and behind, and a second batch of another shape. The layers are BVLC's of early
2017, as the SSD branch has them. `values` are all numbers one after the other; `index`
is JSON in which an array is [where it begins, its shape].
"""

import json
from pathlib import Path

import numpy as np

from geeps_caffe.caffe import TEST, TRAIN, Net
from tests.execution.recordings import BOUNDS, close

with np.load(Path(__file__).parents[1] / "golden" / "corners.npz") as _archive:
    VALUES = _archive["values"]
    CASES = {case["name"]: case for case in json.loads(str(_archive["index"]))}


def check_corner(name, engine, tmp_path):
    """Run the steps of a case, and compare every number."""
    case, kind = CASES[name], name.partition("-")[0]
    file = tmp_path / "net.prototxt"
    file.write_text(case["text"])
    net = Net(str(file), TRAIN if case["phase"] == "TRAIN" else TEST, engine=engine)
    for key, place in case["params"].items():
        layer, index = key.rsplit("/", 1)
        net.params[layer][int(index)].data[...] = _array(place)
    for step in case["steps"]:
        _check_step(net, step, BOUNDS.get(kind, 2e-4))


def _check_step(net, step, rtol):
    for name, place in step["inputs"].items():
        net.blobs[name].reshape(*place[1])
        net.blobs[name].data[...] = _array(place)
    net.clear_param_diffs()
    net.forward()
    _compare(net, step["data"], rtol)
    for key, place in step.get("stats", {}).items():
        _close(_param(net, key).data, place, rtol, f"statistics {key}")
    if not step["topdiff"]:
        return
    for name, place in step["topdiff"].items():
        net.blobs[name].diff[...] = _array(place)
    net.backward()
    for name, place in step["diff"].items():
        _close(net.blobs[name].diff, place, rtol, f"diff {name}")
    for key, place in step["paramdiff"].items():
        _close(_param(net, key).diff, place, rtol, f"diff {key}")


def _compare(net, places, rtol):
    for name, place in places.items():
        _close(net.blobs[name].data, place, rtol, name)


def _param(net, key):
    layer, index = key.rsplit("/", 1)
    return net.params[layer][int(index)]


def _array(place):
    begin, shape = place
    return VALUES[begin : begin + int(np.prod(shape))].reshape(shape)


def _close(found, place, rtol, what):
    wanted = _array(place)
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    close(found / scale, wanted / scale, rtol, what)
