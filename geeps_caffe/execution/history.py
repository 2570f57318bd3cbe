"""The update rule's history in Caffe's order: a blob or two for each learnable blob."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from geeps_caffe.device.array import Array, count
from geeps_caffe.engines.engine import Engine, Layout, plain_layout
from geeps_caffe.errors import InputError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.tables import ParamTables


class Owner(Protocol):
    """Who has the rule's history arrays: the client's tables, or this worker."""

    def history(self, table: str) -> list[Array]:
        """Those of a table."""

    def assign_history(self, table: str, slots: Sequence[Array]) -> None:
        """Replace them."""


class History:
    """Reads and writes the history slots of the tables as plain blobs."""

    def __init__(
        self, net: PlannedNet, tables: ParamTables, client: Owner, slots: int
    ) -> None:
        self._net, self._tables, self._client = net, tables, client
        self.slots = slots  # history arrays of the rule for each learnable blob

    def blobs(self) -> list[Array]:
        """All first slots in the order of the net's params, then all second ones."""
        by_table = {t: self._client.history(t) for t in self._tables.keys}
        owner = {key: t for t, keys in self._tables.keys.items() for key in keys}
        found = []
        for slot in range(self.slots):
            for key in self._net.graph.params:
                if key in owner:
                    found.append(self._plain(key, by_table[owner[key]][slot]))
                else:
                    found.append(np.zeros(self._shape(key), np.float32))
        return found

    def check(self, blobs: Sequence[Array], path: str) -> None:
        """Whether the blobs of a solver state fit.

        Raises:
            InputError: their number or shapes are not those of this net and rule.
        """
        keys = list(self._net.graph.params)
        wanted = len(keys) * self.slots
        if len(blobs) != wanted:
            raise InputError(
                f"{path} has {len(blobs)} history blobs, this solver needs {wanted} "
                f"({self.slots} for each of {len(keys)} learnable blobs); was it "
                "written by a solver of another type, or for another net?"
            )
        for i, blob in enumerate(blobs):
            self._check(keys[i % len(keys)], blob, path)

    def restore(self, blobs: Sequence[Array], path: str) -> None:
        """Set the history from the blobs of a solver state; faults as `check`."""
        self.check(blobs, path)
        keys = list(self._net.graph.params)
        to_host = self._net.engine.device.to_host
        for table, members in self._tables.keys.items():
            slots = [to_host(a).copy() for a in self._client.history(table)]
            for slot, array in enumerate(slots):
                for key in members:
                    blob = blobs[slot * len(keys) + keys.index(key)]
                    self._put(key, array, blob)
            self._client.assign_history(table, slots)

    def _check(self, key: str, blob: Array, path: str) -> None:
        shape = self._shape(key)
        if count(shape) != blob.size:
            raise InputError(
                f"{path}: the history of {key!r} has shape {tuple(blob.shape)}, the "
                f"blob has {shape}"
            )

    def _shape(self, key: str) -> tuple[int, ...]:
        return self._net.graph.params[key].shape

    def _place(self, key: str, slot: Array) -> tuple[Array, Layout]:
        array = self._net.program.arrays[self._net.program.params[key]]
        start, size = self._tables.offsets[key], self._tables.sizes[key]
        return as_bound(slot[start : start + size], array.shape, array.layout)

    def _plain(self, key: str, slot: Array) -> Array:
        source = self._place(key, slot)
        plain = np.zeros(self._shape(key), slot.dtype)
        layout = plain_layout(plain.shape, plain.dtype)
        _reorder(self._net.engine, source, (plain, layout))
        return plain.astype(np.float32, copy=False)

    def _put(self, key: str, slot: Array, blob: Array) -> None:
        target = self._place(key, slot)
        plain = np.ascontiguousarray(blob, slot.dtype).reshape(self._shape(key))
        layout = plain_layout(plain.shape, plain.dtype)
        _reorder(self._net.engine, (plain, layout), target)


def as_bound(
    flat: Array, shape: tuple[int, ...], layout: Layout
) -> tuple[Array, Layout]:
    """A piece of a table as engines expect an array of that layout."""
    if layout.plain:
        return flat[: count(shape)].reshape(shape), layout
    return flat.view(np.uint8)[: layout.nbytes], layout


def _reorder(
    engine: Engine, source: tuple[Array, Layout], target: tuple[Array, Layout]
) -> None:
    plain = source if source[1].plain else target
    engine.bind_reorder(plain[0].shape, source, target, str(plain[0].dtype))()
