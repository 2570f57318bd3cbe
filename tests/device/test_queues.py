"""Copies beside computing: right with events, and found out without them.

A small swapped program: an array leaves the arena for the host, its place serves
another, and it comes back to a new place, where a kernel adds it to the other.
"""

import numpy as np
import pytest

from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.events import Span, Step, find_hand_overs
from geeps_caffe.device.streams import COMPUTE, COPY_IN, COPY_OUT, QUEUES
from tests.cuda_double.fixtures import double
from tests.cuda_double.order import OrderError

__all__ = ["double"]

A, B = (0, 64), (64, 128)  # places in the arena


class Program:
    """Calls in order, with the hand-overs that `find_hand_overs` asks for.

    `without` leaves out the waits before one of the steps.
    """

    def __init__(self, cupy, without=None):
        self.device = CudaDevice(cupy=cupy)
        self.arena = self.device.allocate(128)
        self.ones = self.device.to_device(np.ones(16, np.float32))
        self.host = self.device.allocate_pinned(64)
        self.entries, self.without = [], without

    def place(self, where):
        return self.arena[slice(*where)].view(np.float32)

    def add(self, queue, call, reads=(), writes=()):
        spans = [
            tuple(Span(m, *where) for m, where in some) for some in (reads, writes)
        ]
        self.entries.append((Step(queue, *spans), call))

    def fill(self, where, value):
        args = (self.ones, self.place(where), value)
        call = self.kernel("weighted_sum.cu", "scaled_copy", *args)
        self.add(COMPUTE, call, writes=[("arena", where)])

    def double(self, source, target):
        x, y = self.place(source), self.place(target)
        call = self.kernel("weighted_sum.cu", "scaled_add", x, y, 1.0)
        self.add(
            COMPUTE, call, [("arena", source), ("arena", target)], [("arena", target)]
        )

    def kernel(self, file, name, *args):
        return self.device.kernels.bind(file, name, args[1].size, *args)

    def swap_out(self, where):
        block = self.arena[slice(*where)]
        call = self.device.bind_copy_out(block, self.host, poison=True)
        place = ("arena", where)
        self.add(COPY_OUT, call, [place], [("host", (0, 64)), place])

    def swap_in(self, where):
        call = self.device.bind_copy_in(self.host, self.arena[slice(*where)])
        self.add(COPY_IN, call, [("host", (0, 64))], [("arena", where)])

    def run(self, iterations=3):
        queues, steps = self.device.queues, [step for step, _ in self.entries]
        waits = find_hand_overs(steps)
        events = {j: queues.event() for found in waits.values() for j in found}
        with queues.on(COMPUTE):
            for _ in range(iterations):
                for i, (step, call) in enumerate(self.entries):
                    for j in () if i == self.without else waits.get(i, ()):
                        queues.bind_wait(step.queue, events[j])()
                    call()
                    if i in events:
                        queues.bind_record(step.queue, events[i])()
        self.device.synchronise()


def swapped(cupy, without=None):
    program = Program(cupy, without)
    program.fill(A, 3)
    program.swap_out(A)
    program.fill(A, 5)
    program.swap_in(B)
    program.double(A, B)
    return program


def test_copies_overlap_with_computing_and_the_numbers_are_right(double):
    program = swapped(double)
    program.run()
    assert program.place(B).get().tolist() == [8] * 16
    assert double.machine.order.pieces > 15


@pytest.mark.parametrize("step", range(1, 5))
def test_no_event_is_too_many(double, step):
    """Whichever wait is missing, the checker finds it."""
    with pytest.raises(OrderError):
        swapped(double, without=step).run()


def test_a_missing_event_is_found(double):
    """The kernel adds to what the copy in may still be writing."""
    with pytest.raises(OrderError, match="scaled_add overwrites what copy in may"):
        swapped(double, without=4).run()


def test_a_place_that_is_reused_too_early_is_found(double):
    """Filled while the copy out still reads it."""
    with pytest.raises(OrderError, match="scaled_copy overwrites what"):
        swapped(double, without=2).run()


def test_a_read_of_what_was_swapped_out_is_found(double):
    program = Program(double)
    program.fill(A, 3)
    program.fill(B, 1)
    program.swap_out(A)
    program.double(A, B)
    with pytest.raises(OrderError, match="scaled_add reads what was swapped out"):
        program.run()


def tail_goes_and_comes(cupy, part):
    """A's first half is written where all of B's place had left; then all moves."""
    program = Program(cupy)
    program.fill(B, 1)
    program.swap_out(B)
    program.fill((64, 96), 3)
    program.swap_out(B)
    program.swap_in(A)
    program.fill((96, 128), 0)
    program.double(part, (96, 128))
    return program


def test_what_nobody_has_written_of_a_block_may_be_moved(double):
    """As that which is behind the items that a Filter has left."""
    program = tail_goes_and_comes(double, (0, 32))
    program.run(1)
    assert program.place((96, 128)).get().tolist() == [3] * 8


def test_a_read_of_it_is_found_wherever_it_was_moved(double):
    with pytest.raises(OrderError, match="scaled_add reads what was swapped out"):
        tail_goes_and_comes(double, (32, 64)).run(1)


def test_late_copies_give_wrong_numbers_without_events(double):
    """So the numbers show it too, not only the checker."""
    double.machine.order = None
    program = swapped(double, without=4)
    program.run(1)
    assert program.place(B).get().tolist() != [8] * 16


def test_there_are_three_queues(double):
    queues = CudaDevice(cupy=double).queues
    assert len({queues.stream(name).ptr for name in QUEUES}) == 3
