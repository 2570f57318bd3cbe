"""A made-up training on the client, whose result is known, and random jobs of it."""

import random
from dataclasses import dataclass

import numpy as np

from geeps_caffe.errors import PeerLost
from geeps_caffe.paramserver import ASYNC, Client, LocalStore, Table
from geeps_caffe.solvers import Hyper
from tests.paramserver.programs import Program, gradients

CLOCKS = 5
MOMENTUM = Hyper(rate=0.1, momentum=0.9, weight_decay=0.01)
CLIPPED = Hyper(rate=0.1, momentum=0.9, clip_gradients=3.0, iter_size=2)
SCHEMES = {
    "add": {"rule": "add", "reduce": "sum"},
    "sgd": {"rule": "SGD", "hyper": MOMENTUM},
    "clipped adam": {"rule": "Adam", "hyper": CLIPPED},
}


def tables(slack=0):
    return [
        Table("a", 300, slack=slack),
        Table("b", 5, dtype="float64", slack=slack),
        Table("c", 200, slack=slack),
    ]


def update_of(rank, clock, shared):
    """What a rank sends: the same in every schedule."""
    return gradients(shared, np.random.default_rng([rank, clock]))


def training(shared, scheme, clocks=CLOCKS):
    """A worker's program: returns what it read in each clock."""

    def program(client):
        run = Program(client, shared, **scheme)
        run.start([np.full(t.size, 0.5, t.dtype) for t in shared])
        seen = []
        for clock in range(clocks):
            client.set_hyper(0.1 / (clock + 1), clock)
            seen.append(run.step(update_of(client.rank, clock, shared)))
        client.barrier()
        seen.append([client.values(t.name).copy() for t in shared])
        return seen

    return program


def reduced(shared, scheme, ranks, clocks=CLOCKS):
    """The same training by one worker with the reduced gradients of all."""
    client = Client(LocalStore())
    run = Program(client, shared, **scheme)
    run.start([np.full(t.size, 0.5, t.dtype) for t in shared])
    seen = []
    for clock in range(clocks):
        client.set_hyper(0.1 / (clock + 1), clock)
        updates = [update_of(rank, clock, shared) for rank in range(ranks)]
        total = [sum(parts[1:], parts[0]) for parts in zip(*updates, strict=True)]
        if scheme.get("reduce") != "sum":
            total = [part / ranks for part in total]
        seen.append(run.step(total))
    seen.append([client.values(t.name).copy() for t in shared])
    return seen


def counting(shared, clocks):
    """A worker's program that adds 1 a clock: sums say whose clocks are in them."""

    def program(client):
        run = Program(client, shared, rule="add", reduce="sum")
        run.start()
        seen = [run.step([np.ones(t.size) for t in shared]) for _ in range(clocks)]
        client.barrier()
        seen.append([client.values(t.name).copy() for t in shared])
        return seen

    return program


def assert_close(seen, expected):
    for values, wanted in zip(seen, expected, strict=True):
        for value, other in zip(values, wanted, strict=True):
            np.testing.assert_allclose(value, other, 1e-4, 1e-6)


@dataclass(frozen=True)
class Job:
    """A random training; `kill_after` events rank or host `victim` dies, if at all."""

    shared: tuple[Table, ...]
    slack: int
    scheme: str
    clocks: int
    kill_after: int | None
    victim: int

    @property
    def program(self):
        """A worker's."""
        if self.slack:
            return counting(self.shared, self.clocks)
        return training(self.shared, SCHEMES[self.scheme], self.clocks)

    def check(self, ranks, outcomes, lost, names):
        """That who was not killed has the right numbers, or the name of who was."""
        for rank, outcome in enumerate(outcomes):
            if rank in lost:
                continue
            if isinstance(outcome, list):
                self.check_numbers(ranks, outcome)
                continue
            assert isinstance(outcome, PeerLost), outcome
            assert lost, outcome
            assert any(name in str(outcome) for name in names), outcome

    def check_numbers(self, ranks, seen):
        if not self.slack:
            wanted = reduced(self.shared, SCHEMES[self.scheme], ranks, self.clocks)
            assert_close(seen, wanted)
            return
        for clock, values in enumerate(seen[:-1] if self.slack != ASYNC else []):
            for value in values:
                assert value.min() >= ranks * (clock - self.slack)
                assert value.max() <= ranks * clock
        for value in seen[-1]:
            np.testing.assert_array_equal(value, ranks * self.clocks)


def random_job(seed, deaths):
    """The job of a seed."""
    rng = random.Random(seed)
    slack = rng.choice((0, 0, 0, 1, 2, ASYNC))
    shared = tuple(
        Table(
            name,
            rng.choice((1, 5, 128, 200, 300)),
            dtype=rng.choice(("float32", "float64")),
            slack=slack,
        )
        for name in "abc"[: rng.randint(1, 3)]
    )
    return Job(
        shared,
        slack,
        rng.choice(list(SCHEMES)),
        rng.randint(1, 4),
        rng.randint(1, 300) if rng.random() < deaths else None,
        rng.randrange(4),
    )
