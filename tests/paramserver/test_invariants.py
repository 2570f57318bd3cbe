"""Invariants of GeePS on one host and on several; see docs/invariants.md."""

import re
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.paramserver import Client, LocalStore, Segment, Table
from geeps_caffe.solvers import Hyper
from tests.paramserver.hosts.network import ClusterNetwork
from tests.paramserver.network import Network
from tests.paramserver.programs import Program
from tests.paramserver.training import tables, update_of

ROOT = Path(__file__).parents[2]


class Hosts(ClusterNetwork):
    """Three workers on two hosts."""

    def __init__(self, ranks, seed, program):
        super().__init__((2, 1), seed, program)


def slowed(kind):
    """The network, but rank 1 only goes on when nothing else can happen."""

    class Slowed(kind):
        def choices(self):
            found = list(super().choices())
            mine = [c for c in found if getattr(c[1], "__self__", 0) != self.workers[1]]
            return mine or found

    return Slowed


NETWORKS = pytest.mark.parametrize("network", [Network, Hosts], ids=["one", "several"])


@NETWORKS
def test_both_reads_of_a_clock_give_the_values_of_the_clock_before(network):
    def program(client):
        client.create_tables(tables(), rule="add", reduce="sum")
        client.begin_virtual_iteration()
        names = [t.name for t in tables()]
        forward = [client.virtual_read(name) for name in names]
        given = [client.virtual_post_read(read) for read in forward]
        again = [client.virtual_read(name) for name in reversed(names)]
        updates = [client.virtual_pre_update(name) for name in reversed(names)]
        sent = [client.virtual_update(update) for update in updates]
        ends = [client.virtual_post_read(read) for read in again]
        client.virtual_clock()
        client.finish_virtual_iteration()
        client.start_iterations()
        for clock in range(6):
            first = [client.read(read).copy() for read in forward]
            for handle in given:
                client.post_read(handle)
            second = [client.read(read).copy() for read in again]
            for one, other in zip(first, reversed(second), strict=True):
                np.testing.assert_array_equal(one, other)
                np.testing.assert_array_equal(one, 3.0 * clock)
            for update in updates:
                client.pre_update(update)[...] = 1.0
            for handle in (*sent, *ends):
                (client.update if handle in sent else client.post_read)(handle)
            client.clock()
        return "done"

    for seed in range(25):
        assert network(3, seed, program).run() == ["done"] * 3


@NETWORKS
@pytest.mark.parametrize("slack", [0, 1, 3])
def test_others_get_ahead_of_a_slow_worker_by_the_slack_and_wait_there(network, slack):
    clocks, begun, ahead = 10, [0, 0, 0], []

    def program(client):
        run = Program(client, tables(slack), rule="add")
        run.start()
        for clock in range(clocks):
            run.open()
            begun[client.rank] = clock
            if client.rank == 1:
                ahead.append([begun[0] - clock, begun[2] - clock])
            run.close()

    slowed(network)(3, 4, program).run()
    most = [min(slack, clocks - 1 - clock) for clock in range(clocks)]
    assert ahead == [[limit, limit] for limit in most]


@NETWORKS
def test_sums_at_a_rate_are_one_worker_at_the_rate_times_workers(network):
    """N workers with mean losses, summed as GeePS did, are one with rate N times."""
    shared, clocks, decay = tables(), 5, 0.01

    def start(client, rate, reduce):
        hyper = Hyper(rate=rate, momentum=0.9, weight_decay=decay)
        run = Program(client, shared, rule="SGD", reduce=reduce, hyper=hyper)
        run.start([np.full(t.size, 0.5, t.dtype) for t in shared])
        return run

    def program(client):
        run = start(client, 0.1, "sum")
        for clock in range(clocks):
            grads = update_of(client.rank, clock, shared)
            weights = run.open()
            # decay counts once a worker, as where each adds its own
            for (read, update), grad in zip(weights, grads, strict=True):
                update[...] = grad + 2 / 3 * decay * read
            run.close()
        client.barrier()
        return [client.values(t.name).copy() for t in shared]

    alone = start(Client(LocalStore()), 0.3, "mean")
    for clock in range(clocks):
        updates = [update_of(rank, clock, shared) for rank in range(3)]
        alone.step([sum(parts) / 3 for parts in zip(*updates, strict=True)])
    expected = [alone.client.values(t.name) for t in shared]
    for seed in range(5):
        for found in network(3, seed, program).run():
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, 1e-4, 1e-6)


@NETWORKS
@pytest.mark.parametrize("rule", ["add", "SGD", "Adam"])
def test_what_lies_between_segments_stays_zero_and_changes_nothing(network, rule):
    parts = (Segment("w", 0, 3), Segment("b", 130, 1))
    shared = Table("w", 140, segments=parts)
    hyper = Hyper(rate=0.1, momentum=0.9, clip_gradients=0.5, weight_decay=0.1)
    gap = np.ones(140, bool)
    gap[:3] = gap[130] = False

    def train(junk):
        def program(client):
            run = Program(client, [shared], rule=rule, hyper=hyper)
            run.start([np.where(gap, 0.0, 0.5)])
            for clock in range(4):
                grad = np.where(gap, junk, 1.0 + client.rank + clock)
                run.step([grad])
            client.barrier()
            histories = [slot.copy() for slot in client.history("w")]
            return [client.values("w").copy(), *histories]

        return network(3, 7, program).run()[0]

    clean, dirty = train(0.0), train(np.nan)
    for one, other in zip(clean, dirty, strict=True):
        np.testing.assert_array_equal(one, other)
        assert not one[gap].any()
        assert one[~gap].all()


def test_the_table_of_invariants_names_tests_that_there_are():
    text = (ROOT / "docs" / "invariants.md").read_text()
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", text)
    assert len(named) > 20
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path}::{name}"
