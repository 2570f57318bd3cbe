"""In what order records come: from places in the endless stream to record numbers.

The stream is that of all ranks together. A place is a number from 0 that only grows;
what lies there is a function of the place (and the seed), never of what was read
before. So a run can go on at any place, on any number of ranks.
"""

import zlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.philox import philox

_LOW = 0xFFFFFFFF
_AHEAD = 480  # places; for 500 NumPy would give the lock away in each of many calls


class Order(Protocol):
    """Which record lies at each place."""

    def records(self, places: Array) -> Array:
        """Record numbers, int64, for `places`, int64."""


def salt(*words: str) -> int:
    """A number for the use that is made of random numbers, such as a layer's name."""
    return zlib.crc32("/".join(words).encode())


def draw(places: Array, seed: int, use: int) -> Array:
    """Four random 32-bit numbers for each place: uint32 of shape (places, 4)."""
    where = (
        np.zeros_like(places),
        places & _LOW,
        places >> 32,
        np.full_like(places, use),
    )
    return philox(where, (seed & _LOW, seed >> 32))


class Draws:
    """The words that `draw` gives, drawn ahead for places that follow each other.

    Few words cost as much as one, and hold Python's lock all the while.
    """

    def __init__(self, seed: int, use: int) -> None:
        self._seed, self._use = seed, use
        self._kept = 0, np.zeros((0, 4), np.uint32)  # the first place, and the words

    def words(self, places: Array) -> Array:
        """uint32 of shape (places, 4); safe from several threads."""
        first, last = int(places.min()), int(places.max())
        if last - first >= _AHEAD:
            return draw(places, self._seed, self._use)
        start, words = self._kept
        if not start <= first <= last < start + len(words):
            start = first
            ahead = np.arange(start, start + _AHEAD, dtype=np.int64)
            self._kept = start, words = start, draw(ahead, self._seed, self._use)
        found: Array = words[places - start]
        return found


def below(words: Array, limit: int | Array) -> Array:
    """Random 32-bit words as int64 from 0 to `limit` - 1; limits may differ."""
    scaled = words.astype(np.uint64) * np.asarray(limit, np.uint64)
    return (scaled >> np.uint64(32)).astype(np.int64)


def permutation(length: int, seed: int, use: int, epoch: int) -> Array:
    """The numbers 0 to `length` - 1 in the random order of one pass, int64."""
    words = draw(np.arange(length, dtype=np.int64), seed, use ^ salt(str(epoch)))
    keys = words[:, 0].astype(np.uint64) << np.uint64(32) | words[:, 1]
    return np.argsort(keys, kind="stable")


class Sequential:
    """The records as they stand; a source starts again at its end by itself."""

    def __init__(self, skip: int = 0) -> None:
        self._skip = skip

    def records(self, places: Array) -> Array:
        """See Order."""
        return places + self._skip


class Shuffled:
    """All records in a new random order at each pass.

    `groups` are numbers of records that stay together (the rows of one HDF5 file):
    groups are shuffled, and so are the records in each.
    """

    def __init__(
        self, groups: Sequence[int], seed: int, use: int, skip: int = 0
    ) -> None:
        self._groups = tuple(groups)
        self._length = sum(groups)
        self._seed, self._use, self._skip = seed, use, skip
        self._passes: dict[int, Array] = {}

    def records(self, places: Array) -> Array:
        """See Order."""
        epochs, within = np.divmod(places + self._skip, self._length)
        found = np.empty_like(places)
        for epoch in np.unique(epochs):
            here = epochs == epoch
            found[here] = self._pass(int(epoch))[within[here]]
        return found

    def _pass(self, epoch: int) -> Array:
        if epoch not in self._passes:
            kept = max(self._passes, default=epoch)  # a batch may lie in two passes
            self._passes = {e: p for e, p in self._passes.items() if e == kept}
            self._passes[epoch] = self._shuffle(epoch)
        return self._passes[epoch]

    def _shuffle(self, epoch: int) -> Array:
        if len(self._groups) == 1:
            return permutation(self._length, self._seed, self._use, epoch)
        starts = np.concatenate([[0], np.cumsum(self._groups)])
        use = self._use ^ salt("groups")
        return np.concatenate(
            [
                starts[group]
                + permutation(
                    self._groups[group], self._seed, self._use ^ salt(f"{group}"), epoch
                )
                for group in permutation(len(self._groups), self._seed, use, epoch)
            ]
        )


def first_place(rand_skip: int, seed: int, use: int) -> int:
    """How many records `rand_skip` leaves out: the same number on every rank."""
    if not rand_skip:
        return 0
    return int(below(draw(np.zeros(1, np.int64), seed, use)[:, 0], rand_skip)[0])
