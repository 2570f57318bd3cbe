"""Small programs on the GeePS client, for tests of stores and clients."""

from contextlib import contextmanager

import numpy as np


@contextmanager
def leaving(client):
    """The client leaves at the end; as one that failed, if its program does."""
    try:
        yield client
    except BaseException:
        client.shutdown(failed=True)
        raise
    client.shutdown()


class Program:
    """Reads and updates every table once a clock, whole; top-down, as a net does."""

    def __init__(self, client, tables, **scheme):
        self.client = client
        self.tables = tables
        client.create_tables(tables, **scheme)
        client.begin_virtual_iteration()
        opened = [
            (client.virtual_read(t.name), client.virtual_pre_update(t.name))
            for t in tables
        ]
        closed = [
            (client.virtual_update(update), client.virtual_post_read(read))
            for read, update in reversed(opened)
        ]
        client.virtual_clock()
        client.finish_virtual_iteration()
        self.handles = list(zip(opened, reversed(closed), strict=True))

    def start(self, values=None):
        if values is not None and self.client.rank == 0:
            for table, value in zip(self.tables, values, strict=True):
                self.client.assign(table.name, value)
        self.client.start_iterations()

    def open(self):
        """Leases (weights, update) of all tables."""
        return [
            (self.client.read(read), self.client.pre_update(update))
            for (read, update), _ in self.handles
        ]

    def close(self):
        for _, (update, read) in reversed(self.handles):
            self.client.update(update)
            self.client.post_read(read)
        self.client.clock()

    def step(self, grads):
        """One iteration with these gradients; returns copies of what was read."""
        seen = []
        for ((read, update), _), grad in zip(self.handles, grads, strict=True):
            seen.append(self.client.read(read).copy())
            self.client.pre_update(update)[...] = grad
        self.close()
        return seen


class Writer:
    """Updates one table every clock and never reads it."""

    def __init__(self, client, table, **scheme):
        self.client = client
        client.create_tables([table], **scheme)
        client.begin_virtual_iteration()
        self.opened = client.virtual_pre_update(table.name)
        self.closed = client.virtual_update(self.opened)
        client.virtual_clock()
        client.finish_virtual_iteration()
        client.start_iterations()

    def step(self, value):
        self.client.pre_update(self.opened)[...] = value
        self.client.update(self.closed)
        self.client.clock()


def gradients(tables, rng):
    """Random ones, of the tables' sizes and dtypes."""
    return [rng.standard_normal(t.size).astype(np.dtype(t.dtype)) for t in tables]
