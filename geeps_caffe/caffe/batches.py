"""Runs over more records than a batch has, and their outputs as one array each."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.caffe.faults import ArrayError
from geeps_caffe.caffe.structure import Structure
from geeps_caffe.device.array import Array

Arrays: TypeAlias = Mapping[str, Array]
Batch: TypeAlias = dict[str, Any]  # arrays, as keyword arguments


class Batched(Structure):
    """A net that takes more records than fit into a batch."""

    @abstractmethod
    def forward(
        self,
        blobs: Sequence[str] | None = None,
        start: str | None = None,
        end: str | None = None,
        **inputs: Array,
    ) -> dict[str, Array]:
        """One batch forward."""

    @abstractmethod
    def backward(
        self,
        diffs: Sequence[str] | None = None,
        start: str | None = None,
        end: str | None = None,
        **outputs: Array,
    ) -> dict[str, Array]:
        """One batch backward."""

    def forward_all(
        self, blobs: Sequence[str] | None = None, **inputs: Array
    ) -> dict[str, Array]:
        """Run records of any number forward, batch by batch; see `forward`."""
        outputs, _ = in_batches(
            lambda batch: self.forward(blobs, **batch),
            lambda _: {},
            inputs,
            {},
            self._batch_size(),
        )
        return outputs

    def forward_backward_all(
        self,
        blobs: Sequence[str] | None = None,
        diffs: Sequence[str] | None = None,
        **arrays: Array,
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Run records forward and backward, batch by batch.

        Keyword arguments are values for inputs and gradients for outputs; those that
        are not given stay as they are. Returns what `forward` and `backward` do.
        """
        return in_batches(
            lambda batch: self.forward(blobs, **batch),
            lambda batch: self.backward(diffs, **batch),
            {name: arrays[name] for name in self.inputs if name in arrays},
            {name: arrays[name] for name in self.outputs if name in arrays},
            self._batch_size(),
        )

    def _batch_size(self) -> int:
        return max(next(iter(self.blobs.values())).num, 1)


def batches(arrays: Arrays, size: int) -> Iterator[Batch]:
    """Slices of `size` records each; the last is filled up with zeros."""
    for start in range(0, records_of(arrays), size):
        yield {
            n: _filled(np.asarray(a)[start : start + size], size)
            for n, a in arrays.items()
        }


def records_of(arrays: Arrays) -> int:
    """How many records the arrays have.

    Raises:
        ArrayError: one has more than another.
    """
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ArrayError(f"the arrays have different numbers of records: {lengths}")
    return next(iter(lengths.values()), 0)


def in_batches(
    forward: Callable[[Batch], Arrays],
    backward: Callable[[Batch], Arrays],
    inputs: Arrays,
    diffs: Arrays,
    size: int,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """What forward and backward return for every batch, the filling cut off."""
    if not inputs and not diffs:
        raise ArrayError("no arrays; give those of the net's inputs by name")
    outputs: dict[str, list[Array]] = {}
    gradients: dict[str, list[Array]] = {}
    pairs = zip_longest(batches(inputs, size), batches(diffs, size), fillvalue=None)
    for batch, given in pairs:
        _collect(outputs, forward(batch or {}))
        _collect(gradients, backward(given or {}))
    records = records_of(inputs or diffs)
    return _joined(outputs, records), _joined(gradients, records)


def _collect(found: dict[str, list[Array]], batch: Arrays) -> None:
    for name, values in batch.items():
        found.setdefault(name, []).append(np.atleast_1d(values).copy())


def _joined(found: Mapping[str, Sequence[Array]], records: int) -> dict[str, Array]:
    """Whole arrays; of an output that is one number (a loss), that of each batch."""
    return {name: np.concatenate(parts)[:records] for name, parts in found.items()}


def _filled(part: Array, size: int) -> Array:
    missing = size - len(part)
    if not missing:
        return part
    return np.concatenate([part, np.zeros((missing, *part.shape[1:]), part.dtype)])
