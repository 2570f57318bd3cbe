"""Matrix factorisation on the GeePS client: ratings = users x items, rank 4.

Each worker holds some of the ratings. The factors of the items are shared (one row an
item); those of the users, whom no two workers share, are the worker's own. Run it as

    python matrix_factorisation.py            # one worker
    python matrix_factorisation.py 3          # three workers on this machine
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from geeps_caffe.paramserver import Client, Table, launch, open_client

USERS, ITEMS, RANK, CLOCKS, RATE = 60, 40, 4, 150, 0.02


def make_ratings():
    """A matrix that has rank 4, the same in every process."""
    rng = np.random.default_rng(1)
    return rng.standard_normal((USERS, RANK)) @ rng.standard_normal((RANK, ITEMS))


def factorise(client: Client) -> list[float]:
    """The squared error over all ratings, before each clock."""
    ratings = make_ratings()[client.rank :: client.ranks]  # every ranks-th user
    table = Table("items", ITEMS * RANK, dtype="float64", row_width=RANK)
    client.create_tables([table], rule="add", reduce="sum")
    client.begin_virtual_iteration()
    read = client.virtual_read("items", rows=range(ITEMS))
    update = client.virtual_pre_update("items", rows=range(ITEMS))
    send, done = client.virtual_update(update), client.virtual_post_read(read)
    client.virtual_clock()
    client.finish_virtual_iteration()
    start = np.random.default_rng(2).standard_normal(ITEMS * RANK) / 2
    client.assign("items", start)
    client.start_iterations()
    users = np.full((len(ratings), RANK), 0.1)
    errors = []
    for _ in range(CLOCKS):
        items, change = client.read(read), client.pre_update(update)
        wrong = ratings - users @ items.T
        change[...] = RATE * wrong.T @ users
        users += RATE * wrong @ items
        client.update(send)
        client.post_read(done)
        client.clock()
        errors.append(client.total([float(np.sum(wrong**2))])[0])
    client.shutdown()
    return errors


def main(arguments: list[str]) -> int:
    """Factorise as one worker, or start so many."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workers", type=int, nargs="?", default=0)
    workers = parser.parse_args(arguments).workers
    if workers:
        command = [sys.executable, __file__]
        return launch(command, workers, Path(tempfile.mkdtemp()))
    errors = factorise(open_client())
    print(f"squared error {errors[0]:.1f} at first, {errors[-1]:.4f} at last")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
