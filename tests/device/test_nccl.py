"""Doubles of several GPUs that add arrays up, each in a thread of its own."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.nccl import (
    GpuRing,
    find_nccl,
    nccl_version,
    new_ticket,
    read_ticket,
    ticket_numbers,
)
from geeps_caffe.device.streams import COMPUTE, COPY_OUT
from geeps_caffe.errors import UsageError
from tests.cuda_double import Machine, make_cupy

PATIENCE = 60  # seconds until a stuck test is called so


def gpus(count, distinct=True):
    return [
        CudaDevice(
            index=i * distinct,
            cupy=make_cupy(Machine(late=True, check=True, devices=count)),
        )
        for i in range(count)
    ]


def together(devices, work):
    """`work(device, place, ticket)` in a thread for each; what they return."""
    ticket = new_ticket(find_nccl(devices[0].cupy))
    found, faults = {}, []

    def run(place):
        try:
            found[place] = work(devices[place], place, ticket)
        except BaseException as error:
            faults.append(error)

    threads = [
        threading.Thread(target=run, args=(place,), daemon=True)
        for place in range(len(devices))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a GPU is stuck"
    if faults:
        raise faults[0]
    return [found[place] for place in range(len(devices))]


@pytest.mark.parametrize("count", [2, 4])
def test_the_first_gets_the_sums_in_order_and_the_others_keep_their_arrays(count):
    rng = np.random.default_rng(3)
    given = rng.standard_normal((2, count, 1000), np.float32)
    devices = gpus(count)

    def work(device, place, ticket):
        ring = GpuRing(device, ticket, place, count)
        arrays = [device.to_device(given[i, place]) for i in range(2)]
        for array in arrays:
            ring.bind_sum(array)()
        device.synchronise()
        ring.close()
        return [device.to_host(array) for array in arrays]

    first, *others = together(devices, work)
    for i in range(2):
        rows = given[i]  # even and odd ones apart
        total = rows[0] + rows[1]
        if count == 4:
            total = (rows[0] + rows[2]) + (rows[1] + rows[3])
        np.testing.assert_array_equal(first[i], total)
        for place, kept in enumerate(others, 1):
            np.testing.assert_array_equal(kept[i], given[i, place])


def test_a_sum_runs_beside_computing_and_is_waited_for_by_an_event():
    """The compute queue neither waits for the other GPU nor reads what is not there."""
    devices, come = gpus(2), threading.Event()

    def work(device, place, ticket):
        ring = GpuRing(device, ticket, place, 2)
        array, queues = device.to_device(np.ones(5, np.float32)), device.queues
        if place == 1:
            assert come.wait(PATIENCE)
        ring.bind_sum(array)()
        event = queues.event()
        queues.bind_record(COPY_OUT, event)()
        if place == 0:
            queues.stream(COMPUTE).synchronize()
            come.set()
        with device.running():
            queues.bind_wait(COMPUTE, event)()
            array *= 3
        return array.get().tolist()

    assert together(devices, work) == [[6.0] * 5, [3.0] * 5]


def test_who_waits_for_one_that_never_comes_is_freed_by_an_abort():
    devices, waiting = gpus(2), threading.Event()

    def work(device, place, ticket):
        ring = GpuRing(device, ticket, place, 2)
        if place == 1:
            return
        add = ring.bind_sum(device.to_device(np.ones(5, np.float32)))
        add()
        watch = threading.Thread(target=lambda: (waiting.wait(), ring.abort()))
        watch.start()
        waiting.set()
        device.synchronise()
        add()  # nothing happens any more
        ring.close()

    together(devices, work)


def test_calls_that_differ_are_a_fault_of_ours():
    def work(device, place, ticket):
        ring = GpuRing(device, ticket, place, 2)
        ring.bind_sum(device.to_device(np.ones(5 + place, np.float32)))()
        device.synchronise()

    with pytest.raises(RuntimeError, match="calls differ"):
        together(gpus(2), work)


def test_one_gpu_for_two_workers_is_refused_with_what_to_do():
    def work(device, place, ticket):
        GpuRing(device, ticket, place, 2)

    with pytest.raises(UsageError, match=r"2 GPUs .* -gpu_reduce host does without"):
        together(gpus(2, distinct=False), work)


def test_tickets_travel_as_numbers_that_can_be_added():
    ticket = bytes(np.random.default_rng(1).integers(0, 256, 128, np.uint8))
    numbers = ticket_numbers(ticket)
    assert max(numbers) < 2**53
    assert read_ticket([number + 0.0 for number in numbers]) == ticket


def test_cupy_13_has_tickets_of_signed_numbers():
    """As its get_unique_id returns them, and its communicator takes them."""
    took = []

    def join(size, ticket, place):
        took.append(ticket)

    signed = tuple(range(-64, 64))
    nccl = SimpleNamespace(
        available=True, get_unique_id=lambda: signed, NcclCommunicator=join
    )
    cupy = SimpleNamespace(
        __version__="13.6.0", cuda=SimpleNamespace(nccl=nccl, __name__="cupy.cuda")
    )
    device = SimpleNamespace(cupy=cupy, queues=None, use=lambda: None)
    GpuRing(device, new_ticket(find_nccl(cupy)), 0, 2)
    assert took == [signed]


def test_without_its_library_there_is_no_nccl():
    nccl = SimpleNamespace(available=False)
    assert find_nccl(SimpleNamespace(cuda=SimpleNamespace(nccl=nccl))) is None
    assert nccl_version(SimpleNamespace(get_version=lambda: 22304)) == "2.23.4"
