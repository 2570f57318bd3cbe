"""A worker process for test_launch.py: `worker.py MODE FOLDER [rule dtype]`."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from geeps_caffe.errors import EXIT_INTERRUPTED, GeepsCaffeError
from geeps_caffe.paramserver import Table, open_client
from geeps_caffe.solvers import Hyper
from tests.paramserver.programs import Program, gradients

CLOCKS = 6
HYPER = Hyper(rate=0.1, momentum=0.9)


def tables(dtype):
    return [Table("a", 40_000, dtype=dtype), Table("b", 70, dtype=dtype)]


def update_of(rank, clock, shared):
    return gradients(shared, np.random.default_rng([rank, clock]))


def train(client, folder, rule="add", dtype="float32", clock_hook=lambda clock: None):
    shared = tables(dtype)
    run = Program(client, shared, rule=rule, hyper=HYPER)
    run.start([np.ones(t.size) for t in shared])
    for clock in range(CLOCKS):
        clock_hook(clock)
        run.step(update_of(client.rank, clock, shared))
    client.barrier()
    values = {t.name: client.values(t.name) for t in shared}
    np.savez(folder / f"rank{client.rank}.npz", **values)
    client.shutdown()


def hit_itself(number):
    def hook(clock):
        if clock == 3 and os.environ["GEEPS_CAFFE_RANK"] == "1":
            os.kill(os.getpid(), number)

    return hook


def differ(client, folder):
    Program(client, [Table("w", 300 + 200 * client.rank)]).start()


def fail(client, folder):
    if client.rank == 1:
        print("rank one has no data", flush=True)
        sys.exit(3)
    Program(client, [Table("w", 300)]).start()


def stop(client, folder):
    """Both ranks end as one does that was asked to stop."""
    client.create_tables([Table("w", 1)])
    print("stopped as asked", flush=True)
    client.shutdown()
    sys.exit(EXIT_INTERRUPTED)


def garbage(client, folder):
    """Rank 1 trains a little, then sends what is no message."""
    shared = tables("float32")
    run = Program(client, shared, rule="add")
    run.start()
    for clock in range(CLOCKS):
        if clock == 3 and client.rank == 1:
            client._store._link._socket.sendall(b"\xff" * 100)
        run.step(update_of(client.rank, clock, shared))


def obey(client, folder):
    """Rank 0 sends SIGTERM to the launcher; both ranks wait for their own."""
    got = []
    signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
    client.create_tables([Table("w", 1)])  # both ranks are ready for the signal
    if client.rank == 0:
        os.kill(os.getppid(), signal.SIGTERM)
    end = time.monotonic() + 10
    while not got and time.monotonic() < end:
        signal.sigtimedwait([], 0.01)
    (folder / f"signal{client.rank}").write_text(str(got))
    client.shutdown()


def forever(client, folder):
    """Train until somebody is lost."""
    shared = tables("float32")
    run = Program(client, shared, rule="add")
    run.start()
    run.step(update_of(client.rank, 0, shared))
    (folder / f"rank{client.rank}.started").touch()
    while True:
        run.step(update_of(client.rank, 0, shared))


def until_told(client, folder):
    """Train until there is a file "stop"; all ranks end after the same clock."""
    shared = tables("float32")
    run = Program(client, shared, rule="add", reduce="sum")
    run.start()
    (folder / f"rank{client.rank}.agent").write_text(os.environ["GEEPS_CAFFE_AGENT"])
    clocks = 0
    while not client.total([(folder / "stop").exists()])[0]:
        run.step([np.ones(t.size) for t in shared])
        clocks += 1
        (folder / f"rank{client.rank}.started").touch()
    values = {t.name: client.values(t.name) for t in shared}
    np.savez(folder / f"rank{client.rank}.npz", clocks=clocks, **values)
    client.shutdown()


MODES = {
    "until": until_told,
    "forever": forever,
    "train": train,
    "killed": lambda c, f: train(c, f, clock_hook=hit_itself(signal.SIGKILL)),
    "killed namelessly": lambda c, f: train(c, f, clock_hook=hit_itself(40)),
    "stopped": lambda c, f: train(c, f, clock_hook=hit_itself(signal.SIGSTOP)),
    "differ": differ,
    "fail": fail,
    "garbage": garbage,
    "obey": obey,
    "stop": stop,
    "idle": lambda c, f: c.shutdown(),
}


def main():
    mode, folder, *rest = sys.argv[1:]
    try:
        MODES[mode](open_client(), Path(folder), *rest)
    except GeepsCaffeError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
