"""Spans of one table that are updated ahead of the rest of it.

A worker alone may hand in a gradient while it is made, a few rows at a time: then the
rule finds them in the cache, and the whole gradient never goes through memory.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Protocol, TypeAlias, runtime_checkable

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.applier import Applier
from geeps_caffe.paramserver.fused import BindMomentum
from geeps_caffe.paramserver.memory import Memory
from geeps_caffe.paramserver.reduction import Reduction
from geeps_caffe.paramserver.workspace import Workspace
from geeps_caffe.solvers import Hyper, normalization

ALONE = Reduction("sum", [1.0])  # of one update, whatever the reduction

ApplyPart: TypeAlias = Callable[[Hyper], None]


@runtime_checkable
class TakesParts(Protocol):
    """A store whose tables may be updated part by part."""

    def bind_part(self, table: int, start: int, update: Array) -> ApplyPart:
        """Updates the elements from `start` on with what is in `update`, at once.

        The push of this clock leaves them out.
        """


class Parts:
    """Updates a table's parts, and keeps account of them within a clock."""

    def __init__(self, memory: Memory, table: int, bind: BindMomentum | None) -> None:
        self._memory, self._table, self._bind = memory, table, bind
        self._work = Workspace(memory.scheme, table)
        self._done: list[tuple[int, int]] = []  # first and last-plus-one elements
        self._rests: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
        self._appliers: dict[tuple[int, int], Applier] = {}

    @property
    def begun(self) -> bool:
        """Whether there was a part in this clock."""
        return bool(self._done)

    def bind(self, start: int, update: Array) -> ApplyPart:
        """See `TakesParts`."""
        span = (start, start + update.size)
        applier, done = self._applier(span), self._done

        def apply(hyper: Hyper) -> None:
            if hyper.clips:
                raise ParameterServerError(
                    "clip_gradients needs the whole gradient before its first update"
                )
            applier.apply([update], ALONE, hyper, normalization(hyper, None))
            done.append(span)

        return apply

    def apply_rest(self, update: Array, hyper: Hyper, scale: float) -> None:
        """Update what no part of this clock has, and begin the next."""
        done = tuple(self._done)
        self._done.clear()
        if done not in self._rests:
            self._rests[done] = _between(done, update.size)
        for first, last in self._rests[done]:
            applier = self._applier((first, last))
            applier.apply([update[first:last]], ALONE, hyper, scale)

    def _applier(self, span: tuple[int, int]) -> Applier:
        if span not in self._appliers:
            where, table = slice(*span), self._table
            self._appliers[span] = Applier(
                self._memory.scheme,
                table,
                self._memory.weights[table][where],
                [slot[where] for slot in self._memory.history[table]],
                span[0],
                self._work,
                self._bind,
            )
        return self._appliers[span]


def _between(spans: tuple[tuple[int, int], ...], size: int) -> list[tuple[int, int]]:
    """What is left of `size` elements.

    Raises:
        ParameterServerError: two spans overlap.
    """
    edges = [(0, 0), *sorted(spans), (size, size)]
    found = []
    for (_, stop), (start, _) in pairwise(edges):
        if start < stop:
            raise ParameterServerError(
                f"elements {start} to {stop} were updated twice in one clock"
            )
        if stop < start:
            found.append((stop, start))
    return found
