"""Random numbers as a function of where they are used, never of what ran before.

Philox 4x32-10 (Salmon et al., 2011): a block of four 32-bit numbers is a function of
a key and a counter. The key is the run's seed; the counter is (block within the
record, global record index, iteration, layer). So the same dropout mask falls on
the same record on every engine, for any number of workers, and after a resume.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array, Shape, count

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def philox(counter: tuple[Array, Array, Array, Array], key: tuple[int, int]) -> Array:
    """The blocks for arrays of counters: uint32, shape (..., 4).

    The counter's words are broadcast against each other.
    """
    words = np.broadcast_arrays(*(np.asarray(w, np.uint64) for w in counter))
    c0, c1, c2, c3 = words
    k0, k1 = key[0] & 0xFFFFFFFF, key[1] & 0xFFFFFFFF
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0 = (p1 >> _SHIFT) ^ c1 ^ np.uint64(k0)
        c2 = (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & _LOW, p0 & _LOW
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


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
        records = np.resize(self.records, batch) if batch else self.records[:0]
        blocks = np.arange(-(-each // 4), dtype=np.uint64)[None, :]
        where = (
            blocks,
            (records.astype(np.uint64) & _LOW)[:, None],
            np.uint64(self.iteration & 0xFFFFFFFF),
            np.uint64(self.layer & 0xFFFFFFFF),
        )
        words = philox(where, (self.seed, self.seed >> 32))  # type: ignore[arg-type]
        return words.reshape(batch, 4 * blocks.size)[:, :each].reshape(shape)

    def uniform(self, shape: Shape) -> Array:
        """float64 in [0, 1), 32 bits fine."""
        return self.bits(shape) * 2.0**-32

    def gaussian(self, shape: Shape) -> Array:
        """float64, mean 0 and deviation 1 (Box-Muller)."""
        pairs = self.uniform((shape[0] if shape else 1, 2 * count(shape[1:])))
        first, second = pairs[:, 0::2], pairs[:, 1::2]
        radius = np.sqrt(-2.0 * np.log1p(-first))
        return (radius * np.cos(2.0 * np.pi * second)).reshape(shape)
