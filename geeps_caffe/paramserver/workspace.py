"""Where updates are applied: work arrays for one thread, or for several together."""

from typing import Any

import numpy as np

from geeps_caffe.paramserver.hands import Hands
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.solvers import Rule, Updater
from geeps_caffe.solvers.updater import CHUNK_BYTES

#: Of a chunk, where one thread applies updates, and where several do: these meet at
#: Python's lock between two chunks, so theirs are larger.
_CHUNKS = CHUNK_BYTES, 1 << 18
_ADD_CHUNKS = 1 << 18, 1 << 19  # where updates are only added, fewer arrays are in use
SHARED_BYTES = 1 << 21  # of the smallest table for which other threads are woken


class Scratch:
    """Work arrays of one thread, for chunks of so many bytes."""

    def __init__(self, rule: Rule | None, dtype: np.dtype[Any], nbytes: int) -> None:
        self.updater = None if rule is None else Updater(rule, dtype, nbytes)
        chunk = nbytes // dtype.itemsize
        self.sum, self.spare = np.empty((2, chunk), dtype)
        self.zeros = np.zeros(chunk, dtype)


class Workspace:
    """Who applies updates to tables of one dtype and rule, and where.

    Args:
        scheme: all tables.
        table: the place of one of them.
        hands: the threads that share the table.
    """

    def __init__(self, scheme: Scheme, table: int, hands: Hands | None = None) -> None:
        dtype = np.dtype(scheme.tables[table].dtype)
        rule = scheme.rule_of(table)
        self.hands = hands or Hands()
        alone, shared = _CHUNKS if rule is not None else _ADD_CHUNKS
        nbytes = alone if self.hands.count == 1 else shared
        self.chunk = nbytes // dtype.itemsize
        self.scratch = [Scratch(rule, dtype, nbytes) for _ in range(self.hands.count)]


class Workspaces:
    """One workspace for all tables of a dtype and rule that the same threads share.

    Args:
        scheme: all tables.
        hands: the threads that share large tables.
    """

    def __init__(self, scheme: Scheme, hands: Hands | None = None) -> None:
        self._scheme, self._hands = scheme, hands
        self._made: dict[tuple[str, str | None, bool], Workspace] = {}

    def of(self, table: int) -> Workspace:
        """That of a table."""
        shared, rule = self._scheme.tables[table], self._scheme.rule_of(table)
        hands = self._hands if shared.nbytes >= SHARED_BYTES else None
        key = shared.dtype, None if rule is None else rule.type_name, hands is not None
        if key not in self._made:
            self._made[key] = Workspace(self._scheme, table, hands)
        return self._made[key]
