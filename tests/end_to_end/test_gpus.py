"""Several emulated GPUs of a host add gradients up themselves, or in its memory.

The emulated NCCL adds in the order in which an agent does, so both ways end with the
same bits. A real one may add more than two in another order.
"""

import re

import pytest

from geeps_caffe.errors import EXIT_PEER_LOST
from tests.end_to_end.program import run
from tests.end_to_end.test_cluster import machine_file, run_hosts
from tests.end_to_end.test_mixed_hosts import with_gpu

pytestmark = pytest.mark.slow
TRAIN = ("train", "-solver=solver.prototxt", "-threads=1", "-log_dir=logs")
HOSTS = ("-gpu=all", "-machinefile=machines", "-log_dir=logs")
NET = """
layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
  shape { dim: 4 dim: 3 dim: 8 dim: 8 } shape { dim: 4 }
  data_filler { type: "gaussian" } data_filler { type: "uniform" max: 3.999 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "tanh" type: "TanH" bottom: "conv" top: "tanh" }
layer { name: "own" type: "Python" bottom: "tanh" top: "own"
  python_param { module: "own_layers" layer: "Own" } }
layer { name: "ip" type: "InnerProduct" bottom: "own" top: "ip"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"
  loss_param { ignore_label: 0 } }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.1 momentum: 0.9 weight_decay: 0.001 lr_policy: "fixed"
display: 1 max_iter: 5 snapshot_prefix: "small" random_seed: 1
"""
OWN = """
import os
from geeps_caffe import caffe

class Own(caffe.Layer):
    steps = 0
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data
    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = top[0].diff
        self.steps += 1
        if self.steps == 3 and os.environ["GEEPS_CAFFE_RANK"] == "WHO":
            END
"""
KILL = "os.kill(os.getpid(), 9)"
RAISE = "raise ValueError('no more')"


def write_job(folder, end="pass", rank=1, **fields):
    (folder / "net.prototxt").write_text(NET)
    more = "".join(f"{name}: {value}\n" for name, value in fields.items())
    (folder / "solver.prototxt").write_text(SOLVER + more)
    own = OWN.replace("END", end).replace("WHO", str(rank))
    (folder / "own_layers.py").write_text(own)


def train(folder, gpus, *flags, code=0):
    """What rank 0 and the launcher log."""
    variables = {**with_gpu(), "CUDA_DOUBLE_GPUS": str(gpus)}
    return run(folder, *TRAIN, "-gpu=all", *flags, code=code, **variables)


def weights(folder, gpus, *flags):
    log = train(folder, gpus, *flags)
    found = (folder / "small_iter_5.caffemodel").read_bytes()
    return found, log


JOBS = {
    "plain": (4, (), {}),
    "two batches, clipped": (2, (), {"iter_size": 2, "clip_gradients": 0.1}),
    "summed, tight": (2, ("-reduce=sum", "-memory=60%"), {"type": '"Adam"'}),
}


@pytest.mark.parametrize("job", JOBS)
def test_nccl_and_the_hosts_memory_end_with_the_same_bits(tmp_path, job):
    gpus, flags, fields = JOBS[job]
    write_job(tmp_path, **fields)
    by_nccl, log = weights(tmp_path, gpus, *flags)  # what each worker has a GPU for
    assert f"the {gpus} GPUs of this host add their gradients up by NCCL 2.27.7" in log
    by_host, log = weights(tmp_path, gpus, "-gpu_reduce=host", *flags)
    assert "NCCL" not in log
    assert by_nccl == by_host


def test_two_hosts_of_two_gpus_each_end_with_the_same_bits(tmp_path):
    """One of them adds by NCCL, or none; how many labels count differs by worker."""
    write_job(tmp_path)
    found = []
    for ways in (("host", "host"), ("nccl", "host")):
        machine_file(tmp_path, 2)
        flags = [
            (*HOSTS, f"-worker_id={i}", f"-gpu_reduce={way}")
            for i, way in enumerate(ways)
        ]
        variables = {**with_gpu(), "CUDA_DOUBLE_GPUS": "2"}
        codes, outputs = run_hosts(tmp_path, flags, [variables, variables])
        assert codes == [0, 0], outputs
        found.append((tmp_path / "small_iter_5.caffemodel").read_bytes())
    assert found[0] == found[1]


def test_workers_that_share_a_gpu_do_without_nccl(tmp_path):
    write_job(tmp_path)
    log = train(tmp_path, 2, "-workers=3")
    assert "added up in the host's memory: 3 workers share 2 GPUs" in log


def test_nccl_is_refused_where_it_can_not_be(tmp_path):
    write_job(tmp_path)
    log = train(tmp_path, 2, "-gpu_reduce=nccl", "-slack=1", code=2)
    assert "-gpu_reduce nccl: workers that add up together can't" in log
    assert "give -gpu_reduce host" in log


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_worker_ends_those_that_wait_for_its_gpu(tmp_path, rank):
    write_job(tmp_path, KILL, rank)
    log = train(tmp_path, 2, "-gpu_reduce=nccl", code=EXIT_PEER_LOST)
    lost = rf"lost rank {rank} \(host .* was 1: it was killed by SIGKILL"
    assert re.search(lost, log)
    assert (tmp_path / "small_rescued_iter_3.caffemodel").exists()


def test_a_worker_that_fails_ends_those_that_wait_for_its_gpu(tmp_path):
    write_job(tmp_path, RAISE)
    log = train(tmp_path, 2, "-gpu_reduce=nccl", code=1)
    assert "no more" in log
