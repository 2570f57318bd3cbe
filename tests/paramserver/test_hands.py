"""Several threads at one table."""

import threading
from contextlib import closing

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import Scheme, Segment, Table
from geeps_caffe.paramserver.hands import Hands
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.messages import Push
from geeps_caffe.paramserver.shard import Shard
from geeps_caffe.paramserver.workspace import SHARED_BYTES
from geeps_caffe.solvers import RULES, Hyper

SIZE = SHARED_BYTES // 4 + 1234  # of a table, not a number of whole chunks
PARTS = Segment("a", 0, 300_000), Segment("b", 300_000, SIZE - 300_000, 2.0, 0.0)
TABLE = Table("w", SIZE, segments=PARTS)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_hand_is_called_once_and_all_at_the_same_time(count):
    met = threading.Barrier(count, timeout=60)
    seen = []

    def do(hand):
        met.wait()  # nobody gets on unless all are here
        seen.append((hand, threading.get_ident()))

    with closing(Hands(count)) as hands:
        hands.share(do)
    assert sorted(hand for hand, _ in seen) == list(range(count))
    assert len({thread for _, thread in seen}) == count
    assert (0, threading.get_ident()) in seen


@pytest.mark.parametrize("failing", [0, 1])
def test_a_fault_is_told_once_all_have_ended(failing):
    ended = []

    def do(hand):
        if hand == failing:
            raise ValueError("no")
        ended.append(hand)

    with closing(Hands(2)) as hands, pytest.raises(ValueError, match="no"):
        hands.share(do)
    assert ended == [1 - failing]


def shared(rule, count):
    """Weights and history after two clocks of three workers."""
    momentum = 0.0 if rule in ("AdaGrad", "RMSProp") else 0.9  # they refuse it
    hyper = Hyper(0.1, momentum=momentum, weight_decay=0.01)
    scheme = Scheme((TABLE,), rule, "sum", hyper)
    memory = Memory(scheme, 3, allocate(nbytes(scheme, 3)))
    numbers = np.random.default_rng(1)
    memory.weights[0][:SIZE] = numbers.normal(size=SIZE)
    before = memory.weights[0].copy()
    updates = []
    with closing(Hands(count)) as hands:
        shard = Shard(scheme, memory, hands)
        for clock in range(2):
            for worker in range(3):
                update = memory.update(worker, 0, clock)
                update[:SIZE] = numbers.normal(size=SIZE)
                updates.append(update.copy())
                shard.receive(worker, Push(0, clock, clock, 0.1, 1.0))
            shard.work()
    return before, updates, memory.weights[0], memory.history[0]


def test_what_is_added_by_two_is_the_sum():
    before, (a, b, c, d, e, f), weights, _ = shared("add", 2)
    # parts of three are added up as (1 + 3) + 2, see device.tree
    np.testing.assert_array_equal(weights, before + ((a + c) + b) + ((d + f) + e))


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_gives_two_hands_what_it_gives_one(rule):
    _, _, alone, alone_history = shared(rule, 1)
    before, _, weights, history = shared(rule, 2)
    assert (weights != before).mean() > 0.99
    np.testing.assert_array_equal(weights, alone)
    np.testing.assert_array_equal(history, alone_history)
