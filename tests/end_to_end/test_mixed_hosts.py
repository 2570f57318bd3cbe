"""A host with a GPU, which is emulated, and one without train as one process."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.digits import make_lenet
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


def lenet_at_a_low_rate(folder):
    """LeNet's rate is one at which rounding decides between two values of a pool."""
    return lenet(folder, base_lr=1e-4, lr_policy='"fixed"')


def lenet_without_switches(folder):
    """At its own solver's rates: with mean pooling and TanH no rounding decides."""
    folder.mkdir()
    make_lenet(folder, np.random.default_rng(1), max_iter=50, snapshot=0)
    path = folder / "train_val.prototxt"
    text = path.read_text().replace("batch_size: 64", "batch_size: 16")
    assert "MAX" in text
    assert "ReLU" in text
    path.write_text(text.replace("pool: MAX", "pool: AVE").replace("ReLU", "TanH"))
    return folder


@pytest.mark.parametrize("job", [lenet_at_a_low_rate, lenet_without_switches])
def test_a_gpu_host_and_a_cpu_host_end_with_the_weights_of_one_process(tmp_path, job):
    """Nobody says that their params lie differently: they find out."""
    folder = job(tmp_path / "job")
    run(folder, *TRAIN, "-engine=onednn", *GLOBAL)
    (trained,) = folder.glob("lenet_iter_*.caffemodel")
    (one := folder / "one.caffemodel").write_bytes(trained.read_bytes())
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
    assert trained.read_bytes() != one.read_bytes()
    assert difference(one, trained) < 1e-5
