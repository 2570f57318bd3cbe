"""Who adds gradients up on GPUs: letters, and what is in the way."""

from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.execution.gathering import obstacle, read_letter, write_letter
from tests.cuda_double import make_cupy

TWO = RunSettings(engine="cuda", ranks=2, local=(0, 2), gpus=2)


def tickets(hosts, unwilling=()):
    """What each rank reads; a host's ticket is 128 times its number."""
    ranks = [(host, place) for host, size in enumerate(hosts) for place in range(size)]
    letters = []
    for rank, (host, place) in enumerate(ranks):
        made = None if rank in unwilling else lambda host=host: bytes([host + 1] * 128)
        letters.append(write_letter(rank, len(ranks), place, made))
    total = np.sum(letters, axis=0).tolist()
    found = [
        read_letter(total, rank - place, hosts[host])
        for rank, (host, place) in enumerate(ranks)
    ]
    return [None if ticket is None else ticket[0] for ticket in found]


def test_the_workers_of_a_host_get_the_ticket_of_its_first():
    assert tickets([2, 3]) == [1, 1, 2, 2, 2]


def test_a_host_with_one_that_is_not_willing_gets_none():
    assert tickets([2, 3], unwilling=[4]) == [1, 1, None, None, None]
    assert tickets([2, 3], unwilling=[0, 1]) == [None, None, 2, 2, 2]


def test_a_worker_alone_on_its_host_gets_none():
    assert tickets([1, 2]) == [None, 2, 2]


def test_nothing_is_in_the_way_of_two_workers_with_a_gpu_each():
    assert not obstacle(TWO, CudaDevice(cupy=make_cupy()), shown=False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gpu_reduce": "host"}, "host"),
        ({"local": (0, 1)}, "the only one of its host"),
        ({"gpus": 1}, "2 workers share 1 GPUs"),
        ({"slack": 1}, "-slack"),
        ({"slack": -1}, "-slack"),
        ({"update": "worker"}, "no gradients are handed in"),
        ({"keep_all": True}, "gradients are shown"),
    ],
)
def test_what_is_in_the_way_is_said(changes, words):
    device = CudaDevice(cupy=make_cupy())
    assert words in obstacle(replace(TWO, **changes), device, shown=False)


def test_gradients_that_are_shown_are_each_workers_own():
    assert "debug_info" in obstacle(TWO, CudaDevice(cupy=make_cupy()), shown=True)


def test_a_cpu_or_a_cupy_without_nccl_has_none():
    assert "on the CPU" in obstacle(TWO, None, shown=False)
    cupy = make_cupy()
    cupy.cuda.nccl.available = False
    found = obstacle(TWO, CudaDevice(cupy=cupy), shown=False)
    assert "pip install geeps-caffe[nccl]" in found
