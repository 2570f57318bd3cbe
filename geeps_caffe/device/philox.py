"""Random numbers as a function of where they are used, never of what ran before.

Philox 4x32-10 (Salmon et al., 2011): a block of four 32-bit numbers is a function of
a key and a counter. The key is the run's seed; the counter is (block within the
record, global record index, iteration, layer). So the same dropout mask falls on
the same record on every engine, for any number of workers, and after a resume.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array, Shape, count

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_TILE = 8192  # blocks that are made at a time: their numbers stay in a core's cache


def philox(counter: tuple[Array, Array, Array, Array], key: tuple[int, int]) -> Array:
    """The blocks for arrays of counters: uint32, shape (..., 4).

    The counter's words are broadcast against each other.
    """
    words = np.broadcast_arrays(*(np.asarray(w, np.uint64) for w in counter))
    c0, c1, c2, c3 = (np.array(word, order="C") for word in words)
    p0, p1 = np.empty_like(c0), np.empty_like(c0)
    k0, k1 = key[0] & 0xFFFFFFFF, key[1] & 0xFFFFFFFF
    for _ in range(_ROUNDS):
        np.multiply(c0, _MULTIPLIERS[0], out=p0)
        np.multiply(c2, _MULTIPLIERS[1], out=p1)
        _mix(p1, c1, k0, c0)
        _mix(p0, c3, k1, c2)
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    blocks = np.empty((*c0.shape, 4), np.uint32)
    for place, word in enumerate((c0, c1, c2, c3)):
        blocks[..., place] = word
    return blocks


def _mix(product: Array, low: Array, key: int, high: Array) -> None:
    """The product's upper half into `high`, mixed with `low`; its lower into that."""
    np.right_shift(product, _SHIFT, out=high)
    np.bitwise_xor(high, low, out=high)
    np.bitwise_xor(high, np.uint64(key), out=high)
    np.bitwise_and(product, _LOW, out=low)


@dataclass
class Stream:
    """The random numbers of one layer in one iteration.

    `records` are the global indices (within the iteration) of the records that this
    worker's batch holds, int64 of shape (batch,); axis 0 of a drawn array is the batch.
    `draw` gives the bits as an array of a device instead of NumPy's.
    """

    seed: int
    layer: int
    iteration: int
    records: Array
    draw: "Callable[[Stream, Shape], Array] | None" = None

    def bits(self, shape: Shape) -> Array:
        """uint32 of `shape`, whose axis 0 goes with `records` (repeated if longer)."""
        if self.draw is not None:
            return self.draw(self, shape)
        batch = shape[0] if shape else 1
        each = count(shape[1:])
        blocks = -(-each // 4)
        found = np.empty((batch, blocks, 4), np.uint32)
        records = np.resize(self.records, batch) if batch else self.records[:0]
        for rows, columns in _tiles(batch, blocks):
            found[rows, columns] = self._blocks(records[rows], columns)
        return found.reshape(batch, 4 * blocks)[:, :each].reshape(shape)

    def _blocks(self, records: Array, columns: slice) -> Array:
        """Some blocks of some records."""
        where = (
            np.arange(columns.start, columns.stop, dtype=np.uint64)[None, :],
            (records.astype(np.uint64) & _LOW)[:, None],
            np.uint64(self.iteration & 0xFFFFFFFF),
            np.uint64(self.layer & 0xFFFFFFFF),
        )
        return philox(where, (self.seed, self.seed >> 32))  # type: ignore[arg-type]

    def uniform(self, shape: Shape) -> Array:
        """float64 in [0, 1), 32 bits fine."""
        return self.bits(shape) * 2.0**-32


def _tiles(rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """A table of blocks in parts of about `_TILE`."""
    high = max(1, _TILE // max(1, columns))
    for top in range(0, rows, high):
        for left in range(0, columns, _TILE):
            yield (
                slice(top, min(top + high, rows)),
                slice(left, min(left + _TILE, columns)),
            )
