"""Real clients over a network of random delays; every seed is another schedule."""

import numpy as np
import pytest

from geeps_caffe.errors import PeerLost
from geeps_caffe.paramserver import ASYNC, Table
from tests.paramserver.network import Network
from tests.paramserver.programs import Program, Writer
from tests.paramserver.training import (
    MOMENTUM,
    SCHEMES,
    assert_close,
    random_job,
    reduced,
    tables,
    training,
)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_workers_equal_one_with_the_reduced_gradients(scheme, ranks):
    expected = reduced(tables(), scheme, ranks)
    for seed in range(15):
        for seen in Network(ranks, seed, training(tables(), scheme)).run():
            assert_close(seen, expected)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_a_schedule_without_slack_does_not_change_a_bit(scheme):
    runs = [Network(3, seed, training(tables(), scheme)).run() for seed in range(25)]
    for run in runs:
        for seen in run:
            for values, wanted in zip(seen, runs[0][0], strict=True):
                for value, other in zip(values, wanted, strict=True):
                    np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_without_overlap_the_values_are_the_same(scheme):
    expected = Network(2, 0, training(tables(), scheme)).run()[0]
    for seed in range(10):
        network = Network(2, seed, training(tables(), scheme), overlap=False)
        for seen in network.run():
            for values, wanted in zip(seen, expected, strict=True):
                for value, other in zip(values, wanted, strict=True):
                    np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("slack", [0, 1, 3])
def test_no_worker_reads_older_values_than_slack_allows(slack):
    for seed in range(25):
        furthest, behind = [0, 0, 0], []

        def program(client, furthest=furthest, behind=behind):
            run = Program(client, tables(slack), rule="add", reduce="sum")
            run.start()
            for clock in range(12):
                seen = run.step([np.ones(t.size) for t in tables()])
                for values in seen:
                    # each worker adds 1 a clock: the sum says which clocks are in
                    assert np.all(values == values[0])
                    assert values[0] >= 3 * (clock - slack)
                furthest[client.rank] = clock
                behind.append(clock - min(furthest))
            client.barrier()
            return [client.values(t.name)[0] for t in tables()]

        assert Network(3, seed, program).run() == [[36.0] * 3] * 3
        assert max(behind) <= slack + 1


def test_a_fast_worker_gets_ahead_by_its_slack_and_no_further():
    gaps = set()
    for seed in range(40):
        clocks = [0, 0]

        def program(client, clocks=clocks):
            run = Program(client, tables(slack=2), rule="add")
            run.start()
            for _ in range(12):
                run.open()
                gaps.add(clocks[client.rank] - min(clocks))
                run.close()
                clocks[client.rank] += 1

        Network(2, seed, program).run()
    assert max(gaps) == 2


@pytest.mark.parametrize("slack", [0, 2, ASYNC])
def test_an_update_is_not_overwritten_before_it_is_used(slack):
    for seed in range(25):

        def program(client):
            table = Table("w", 10, dtype="float64", slack=slack)
            writer = Writer(client, table, rule="add", reduce="sum")
            for clock in range(8):
                writer.step(10.0**clock)
            client.barrier()
            return client.values("w")[0]

        assert Network(2, seed, program).run() == [22222222.0] * 2


def test_without_a_bound_all_updates_count_in_the_end():
    for seed in range(25):

        def program(client):
            run = Program(client, tables(slack=ASYNC), rule="add", reduce="sum")
            run.start([np.zeros(t.size) for t in tables()])
            for _ in range(8):
                run.step([np.ones(t.size) for t in tables()])
            client.barrier()
            return [client.values(t.name)[0] for t in tables()]

        assert Network(3, seed, program).run() == [[24.0] * 3] * 3


def test_a_death_at_any_time_ends_all_with_a_name():
    ends = set()
    for seed in range(120):
        network = Network(3, seed, training(tables(), SCHEMES["clipped adam"]))
        outcomes = network.run(kill_after=3 + 2 * seed)
        if outcomes[1] not in ("killed", None):
            continue  # it had finished before
        for outcome in (outcomes[0], outcomes[2]):
            if not isinstance(outcome, PeerLost):
                assert isinstance(outcome, list)  # had finished before
                continue
            text = str(outcome)
            assert "lost rank 1" in text
            assert "it was killed" in text
            ends.add(text.split("its last clock was")[-1])
    assert len(ends) > 3


def test_flags_are_seen_alike_by_all_in_the_same_clock():
    for seed in range(25):

        def program(client):
            run = Program(client, tables(), rule="add")
            run.start()
            seen = []
            for clock in range(6):
                if clock == client.rank + 1:
                    client.request(1 << client.rank)
                run.step([np.zeros(t.size) for t in tables()])
                seen.append(client.requested())
            return seen

        assert Network(3, seed, program).run() == [[0, 0, 1, 2, 4, 0]] * 3


def test_sums_over_workers_are_the_same_for_all():
    for seed in range(25):

        def program(client):
            Program(client, tables(), rule="add").start()
            return client.total([client.rank + 0.5, 1.0])

        assert Network(3, seed, program).run() == [[4.5, 3.0]] * 3


def test_assignments_are_seen_by_all_after_the_barrier_and_the_lowest_rank_wins():
    for seed in range(25):

        def program(client):
            run = Program(client, tables(), rule="SGD", hyper=MOMENTUM)
            run.start()
            run.step([np.ones(t.size) for t in tables()])
            if client.rank > 0:
                client.assign("a", np.full(300, float(client.rank)))
                client.assign_history("b", [np.full(5, 7.0)])
            client.barrier()
            (history,) = client.history("b")
            return run.open()[0][0][0], history[0]

        assert Network(3, seed, program).run() == [(1.0, 7.0)] * 3


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(15))
def test_whatever_the_job_its_numbers_are_right_or_who_died_is_named(hundred):
    for seed in range(100 * hundred, 100 * hundred + 100):
        job, ranks = random_job(seed, deaths=0.3), 1 + seed % 4
        network = Network(ranks, seed, job.program)
        outcomes = network.run(job.kill_after, job.victim % ranks)
        job.check(ranks, outcomes, network.killed, network.names_of_killed)
