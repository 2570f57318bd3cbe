"""Real clients on several hosts, over a network of random delays."""

from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.errors import ParameterServerError, PeerLost
from geeps_caffe.paramserver import ASYNC, Table
from geeps_caffe.paramserver.hosts.passport import Passport
from tests.paramserver.hosts.network import ClusterNetwork
from tests.paramserver.network import Network
from tests.paramserver.programs import Program
from tests.paramserver.training import (
    MOMENTUM,
    SCHEMES,
    assert_close,
    random_job,
    reduced,
    tables,
    training,
)

LAYOUTS = [(1, 1), (2, 1), (1, 2, 1), (1, 1, 1, 1)]
IDS = ["+".join(map(str, layout)) for layout in LAYOUTS]


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
def test_workers_equal_one_with_the_reduced_gradients(scheme, layout):
    expected = reduced(tables(), scheme, sum(layout))
    for seed in range(10):
        for seen in ClusterNetwork(layout, seed, training(tables(), scheme)).run():
            assert_close(seen, expected)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_a_schedule_without_slack_does_not_change_a_bit(scheme):
    program = training(tables(), scheme)
    runs = [ClusterNetwork((2, 1), seed, program).run() for seed in range(1, 50, 2)]
    for run in runs:
        for seen in run:
            for values, wanted in zip(seen, runs[0][0], strict=True):
                for value, other in zip(values, wanted, strict=True):
                    np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("scheme", ["add", "sgd"])
def test_hosts_of_one_worker_end_as_workers_of_one_host_to_the_last_bit(scheme):
    program = training(tables(), SCHEMES[scheme])
    together = Network(3, 0, program).run()[0]
    apart = ClusterNetwork((1, 1, 1), 0, program).run()[0]
    for values, wanted in zip(apart, together, strict=True):
        for value, other in zip(values, wanted, strict=True):
            np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("slack", [0, 1, 3])
def test_no_worker_reads_older_values_than_slack_allows(slack):
    for seed in range(15):

        def program(client):
            run = Program(client, tables(slack), rule="add", reduce="sum")
            run.start()
            for clock in range(10):
                seen = run.step([np.ones(t.size) for t in tables()])
                for values in seen:  # each worker adds 1 a clock
                    assert values.min() >= 3 * (clock - slack)
            client.barrier()
            return [client.values(t.name)[0] for t in tables()]

        assert ClusterNetwork((2, 1), seed, program).run() == [[30.0] * 3] * 3


class Seeing(Network):
    read_my_writes = True


class SeeingCluster(ClusterNetwork):
    read_my_writes = True


@pytest.mark.parametrize(
    "make",
    [
        lambda seed, program: Seeing(3, seed, program),
        lambda seed, program: SeeingCluster((2, 1), seed, program),
    ],
    ids=["one host", "two hosts"],
)
def test_a_worker_that_reads_its_writes_sees_all_of_its_own(make):
    early = 0
    for seed in range(20):
        seen = []

        def program(client, seen=seen):
            run = Program(client, tables(slack=2), rule="add", reduce="sum")
            run.start()
            mine = 100.0**client.rank  # digits tell whose updates are in a sum
            for clock in range(8):
                for values in run.step([np.full(t.size, mine) for t in tables()]):
                    own = (values // mine) % 100
                    assert np.all(own == clock)
                    seen.append(values[0] / sum(100.0**r for r in range(3)) - clock)
            client.barrier()
            return [client.values(t.name)[0] for t in tables()]

        expected = 8 * sum(100.0**rank for rank in range(3))
        outcomes = make(seed, program).run()
        assert outcomes == [[expected] * 3] * 3
        early += sum(difference != 0 for difference in seen)
    assert early  # others' were not always there


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

        ClusterNetwork((1, 1), seed, program).run()
    assert max(gaps) == 2


def test_without_a_bound_all_updates_count_in_the_end():
    for seed in range(25):

        def program(client):
            shared = tables(slack=ASYNC)
            run = Program(client, shared, rule="add", reduce="sum")
            run.start([np.zeros(t.size) for t in shared])
            for _ in range(8):
                run.step([np.ones(t.size) for t in shared])
            client.barrier()
            return [client.values(t.name)[0] for t in shared]

        assert ClusterNetwork((2, 1), seed, program).run() == [[24.0] * 3] * 3


def test_a_death_at_any_time_ends_all_hosts_with_a_name():
    ends = set()
    for seed in range(80):
        program = training(tables(), SCHEMES["clipped adam"])
        network = ClusterNetwork((1, 1, 1), seed, program)
        outcomes = network.run(kill_after=30 + 12 * seed)
        if outcomes[1] not in ("killed", None):
            continue  # it had finished before
        for outcome in (outcomes[0], outcomes[2]):
            if not isinstance(outcome, PeerLost):
                assert isinstance(outcome, list)  # had finished before
                continue
            assert "lost rank 1 (host b" in str(outcome)
            ends.add(str(outcome))
    assert ends


def test_flags_are_seen_alike_by_all_in_the_same_clock():
    for seed in range(15):

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

        expected = [[0, 0, 1, 2, 4, 0]] * 3
        assert ClusterNetwork((2, 1), seed, program).run() == expected


@pytest.mark.parametrize("wire", ["fp32", "bf16"])
def test_assignments_and_history_reach_all_hosts(wire):
    for seed in range(25):

        def program(client):
            run = Program(client, tables(), rule="SGD", hyper=MOMENTUM)
            run.start()
            run.step([np.ones(t.size) for t in tables()])
            if client.rank > 0:
                client.assign("a", np.arange(300.0) + client.rank)
                client.assign_history("b", [np.full(5, 7.0)])
            client.barrier()
            (history,) = client.history("b")
            (other,) = client.history("c")
            seen = run.open()[0][0].copy()
            return seen[0], seen[299], history[0], other[0], other[199]

        outcomes = ClusterNetwork((1, 1, 1), seed, program, wire=wire).run()
        assert outcomes[0] == outcomes[1] == outcomes[2]
        first, last, assigned, *others = outcomes[0]
        assert (first, last, assigned) == (1.0, 300.0, 7.0)
        np.testing.assert_allclose(others, 0.1, 1e-2)


@pytest.mark.parametrize("wire", ["fp16", "bf16"])
def test_rounded_numbers_are_the_same_on_all_hosts_and_near_the_exact_ones(wire):
    shared = [Table("a", 300), Table("b", 5)]

    def program(client):
        run = Program(client, shared, rule="SGD", hyper=MOMENTUM)
        run.start([np.full(t.size, 0.5, t.dtype) for t in shared])
        for clock in range(20):
            rng = np.random.default_rng([client.rank, clock])
            run.step([rng.standard_normal(t.size) for t in shared])
        client.barrier()
        return [client.values(t.name).copy() for t in shared]

    exact = ClusterNetwork((1, 1), 0, program).run()[0]
    for seed in range(5):
        one, other = ClusterNetwork((1, 1), seed, program, wire=wire).run()
        for mine, theirs, wanted in zip(one, other, exact, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert 0 < np.abs(mine - wanted).max() < 0.02


def test_hosts_with_other_tables_are_refused_with_the_difference():
    def program(client):
        Program(client, [Table("w", 300 + 200 * client.rank)]).start()

    for outcome in ClusterNetwork((1, 1), 3, program).run():
        assert isinstance(outcome, ParameterServerError)
        assert "table w: 3 rows of 128 float32, size 300" in str(outcome)
        assert "table w: 4 rows of 128 float32, size 500" in str(outcome)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"version": "0.0.1"}, "version: "),
        ({"protocol": 1}, "protocol: "),
        ({"job": {"net": "abc"}}, "net: none and abc"),
        ({"wire": "bf16"}, "wire: "),
    ],
)
def test_hosts_that_run_another_job_are_refused_with_what_differs(change, line):
    mine = Passport((1, 1))
    passports = [mine, replace(mine, **change)]

    def program(client):
        Program(client, [Table("w", 1)]).start()

    for outcome in ClusterNetwork((1, 1), 1, program, passports=passports).run():
        assert isinstance(outcome, ParameterServerError)
        assert "does not run the same job" in str(outcome)
        assert any(line.split(":")[0] in text for text in str(outcome).splitlines())


ANY_LAYOUT = [*LAYOUTS, (2, 2), (1, 3), (1, 1, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(15))
@pytest.mark.parametrize("what", ["worker", "host"])
def test_whatever_the_job_its_numbers_are_right_or_who_died_is_named(hundred, what):
    for seed in range(100 * hundred, 100 * hundred + 100):
        job, layout = random_job(seed, deaths=0.3), ANY_LAYOUT[seed % 7]
        network = ClusterNetwork(layout, seed, job.program)
        if what == "host":
            outcomes = network.run(job.kill_after, job.victim % len(layout), True)
        else:
            outcomes = network.run(job.kill_after, job.victim % sum(layout))
        job.check(sum(layout), outcomes, network.killed, network.names_of_killed)
