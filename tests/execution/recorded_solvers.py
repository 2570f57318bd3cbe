"""Running solvers as recordings of the real Caffe were made, and comparing."""

from pathlib import Path

import numpy as np

from geeps_caffe.caffe import get_solver

FOLDER = Path(__file__).parents[1] / "golden" / "solvers"
CASES = sorted(p.name for p in FOLDER.iterdir() if p.is_dir())
#: Rules that divide by roots of small numbers magnify single-precision differences.
BOUNDS = {"AdaGrad": 1e-3, "RMSProp": 1e-3, "AdaDelta": 1e-3, "Adam": 1e-3}


def start(case, settings, solver="solver.prototxt"):
    found = get_solver(f"{case}/{solver}", settings)
    net = str(found.param.net).removeprefix("net_").removesuffix(".prototxt")
    found.net.copy_from(f"init_{net}.caffemodel")
    return found


def close(found, wanted, rtol, what):
    scale = float(np.abs(wanted).max(initial=1e-3))
    np.testing.assert_allclose(found, wanted, rtol, rtol * scale, err_msg=what)


def check_weights(solver, recorded, prefix, rtol):
    names = [n for n in recorded.files if n.startswith(prefix)]
    assert names, prefix
    for name in names:
        layer, index = name.removeprefix(prefix).rsplit("/", 1)
        found = solver.net.params[layer][int(index)].data
        close(found, recorded[name], rtol, name)


def check_run(case, settings):
    """Twenty iterations in the folder of the recordings."""
    recorded = np.load(f"{case}/result.npz")
    rtol = BOUNDS.get(case.split("__")[0], 1e-4)
    solver = start(case, settings)
    check_weights(solver, recorded, "weights/0/", 1e-6)
    for i in range(20):
        np.testing.assert_allclose(solver.lr, recorded["lr"][i], rtol=1e-6)
        solver.step(1)
        if f"weights/{i + 1}" in {n.rsplit("/", 2)[0] for n in recorded.files}:
            check_weights(solver, recorded, f"weights/{i + 1}/", rtol)
        last = recorded["losses"][i][-1]
        close(float(solver.net.blobs["loss"].data.sum()), last, rtol, f"loss {i}")
