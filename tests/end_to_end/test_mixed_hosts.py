"""A host with a GPU, which is emulated, and one without train as one process."""

import os
from pathlib import Path

import pytest

from tests.end_to_end.program import environment, run
from tests.end_to_end.test_cluster import TRAIN, lenet, machine_file, run_hosts
from tests.end_to_end.test_workers import difference

pytest.importorskip("zmq")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
GLOBAL = ("-batch_mode=global", "-seed=2")


def with_gpu():
    """Variables with which programs find the double as CuPy."""
    known = environment().get("PYTHONPATH", "").split(os.pathsep)
    folders = [str(ROOT / "tests" / "cuda_double" / "site"), str(ROOT), *known]
    return {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


def test_a_gpu_host_and_a_cpu_host_end_with_the_weights_of_one_process(tmp_path):
    """Nobody says that their params lie differently: they find out.

    The rate is one at which rounding decides between no two values of a pool.
    """
    folder = lenet(tmp_path / "job", base_lr=1e-4, lr_policy='"fixed"')
    run(folder, *TRAIN, "-engine=onednn", *GLOBAL)
    (folder / "lenet_iter_10.caffemodel").rename(folder / "one.caffemodel")
    machine_file(folder, 2)
    same = (*GLOBAL, "-machinefile=machines", "-log_dir=logs")
    flags = [
        (*same, "-worker_id=0", "-gpu=0"),
        (*same, "-worker_id=1", "-engine=onednn"),
    ]
    codes, outputs = run_hosts(folder, flags, [with_gpu(), {}])
    assert codes == [0, 0], outputs
    assert "Using GPUs 0" in outputs[0]
    assert "lay params out differently" in outputs[0]
    found = difference(folder / "one.caffemodel", folder / "lenet_iter_10.caffemodel")
    assert found < 1e-5
