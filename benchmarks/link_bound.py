"""How long a worker must wait at least, if tables go over one link in the best order.

Each table's gradient leaves when its backward pass is done: half of it to the other
host, and half of the fresh rows come back (two hosts, full duplex, both alike). The
link serves the table that the next forward pass needs first, and changes over between
pieces. The next forward pass of a layer waits for its table.
"""

import heapq
from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A layer with a table, or without (bytes 0); seconds of its passes."""

    name: str
    forward: float
    backward: float
    nbytes: int = 0


def waiting(layers, rate, steps=6, piece=1 << 20, overlap=True):
    """Seconds of waiting and of the whole, for the last of `steps` steps.

    Args:
        layers: in the order of the net.
        rate: bytes a second, in each direction.
        steps: until it is steady.
        piece: bytes that are sent at a time.
        overlap: as trained; else all tables leave and are awaited together.
    """
    ready = [0.0] * len(layers)  # when each table may be read
    now, waited, before = 0.0, 0.0, 0.0
    for _ in range(steps):
        before, waited = now, 0.0
        if not overlap:
            waited += max(0.0, max(ready) - now)
            now = max(now, *ready)
        for i, layer in enumerate(layers):
            waited += max(0.0, ready[i] - now)
            now = max(now, ready[i]) + layer.forward
        done = [0.0] * len(layers)
        for i in reversed(range(len(layers))):
            now += layers[i].backward
            done[i] = now
        if not overlap:
            done = [now] * len(layers)
        ready = _deliver(layers, done, rate, piece)
    return waited, now - before


def _deliver(layers, done, rate, piece):
    """When each table is back: it takes all its bytes, in two rounds of halves."""
    events = sorted((t, i) for i, t in enumerate(done) if layers[i].nbytes)
    left = {i: layers[i].nbytes for _, i in events}
    queue, now, ready = [], 0.0, [0.0] * len(layers)
    while events or queue:
        while events and (events[0][0] <= now or not queue):
            t, i = events.pop(0)
            now = max(now, t) if not queue else now
            heapq.heappush(queue, i)
        i = queue[0]
        size = min(piece, left[i])
        now += size / rate
        left[i] -= size
        if not left[i]:
            heapq.heappop(queue)
            ready[i] = now
    return ready
