"""Blobs as Python programs see them: plain arrays that can be read and written.

An array that the engine keeps in a layout of its own, or on a GPU, is shown as a
plain copy, a *shadow*. What a program writes into a shadow is carried back before the
net runs next; shadows that are still held are refreshed after each run. One whose
array has taken another shape shows nothing any more: the program asks for a new one.
"""

import weakref
from collections.abc import Collection, Sequence

import numpy as np

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.execution.executor import Executor


class Shadows:
    """The plain copies handed out for one net."""

    def __init__(self) -> None:
        self._fresh: dict[str, tuple[Array, Array]] = {}  # copy, as it was shown
        self._held: weakref.WeakValueDictionary[str, Array] = (
            weakref.WeakValueDictionary()
        )

    def show(self, executor: Executor, name: str) -> Array:
        """The array itself where it can be shown in place, else its shadow."""
        if executor.in_place(name):
            return executor.plain(name)
        shadow = self._held.get(name)
        if shadow is None:
            shadow = executor.plain(name)
            self._held[name] = shadow
        if name not in self._fresh:
            self._fresh[name] = (shadow, shadow.copy())
        return shadow

    def carry_back(self, executor: Executor) -> bool:
        """Bring what was written to the arrays behind; returns whether any was."""
        wrote = False
        for name, (shadow, shown) in self._fresh.items():
            written = not np.array_equal(shadow, shown, equal_nan=True)
            if written and _fits(executor, name, shadow):
                executor.copy_in(name, shadow)
                wrote = True
        self._fresh.clear()
        return wrote

    @property
    def held(self) -> bool:
        """Whether somebody may have written into a shadow."""
        return bool(self._held)

    def refresh(self, executor: Executor) -> None:
        """After a run: shadows that somebody holds show the new values."""
        for name, shadow in list(self._held.items()):
            if _fits(executor, name, shadow):
                executor.copy_out(name, shadow)
                self._fresh[name] = (shadow, shadow.copy())
            else:
                del self._held[name]

    def adopt(self, executor: Executor, name: str, shadow: Array) -> None:
        """Take an array that was filled before `name` was there as its shadow."""
        executor.copy_in(name, shadow)
        self._held[name] = shadow
        self._fresh[name] = (shadow, shadow.copy())

    def forget(self, keep: Collection[str] = ()) -> None:
        """Shapes have changed: old arrays, all but `keep`, show nothing any more."""
        for name in {*self._fresh, *self._held} - set(keep):
            self._fresh.pop(name, None)
            self._held.pop(name, None)


def _fits(executor: Executor, name: str, shadow: Array) -> bool:
    """Whether a shadow is of an array that the plan has in this shape."""
    array = executor.plan.program.arrays.get(name)
    return array is not None and array.shape == shadow.shape


class Blob:
    """pycaffe's Blob: `data`, `diff` and the shape."""

    def __init__(self, owner: "BlobOwner", name: str) -> None:
        self._owner = owner
        self._name = name

    @property
    def data(self) -> Array:
        """The values; writing changes what the next pass reads."""
        return self._owner.blob_data(self._name)

    @property
    def diff(self) -> Array:
        """The gradient."""
        return self._owner.blob_diff(self._name)

    @property
    def shape(self) -> Shape:
        """The present shape."""
        return self._owner.blob_shape(self._name)

    def reshape(self, *dims: int) -> None:
        """Set the shape of an input; the others follow at the next forward."""
        self._owner.blob_reshape(self._name, tuple(int(d) for d in dims))

    @property
    def count(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def num(self) -> int:
        """Axis 0 of the legacy 4-D shape."""
        return self._legacy(0)

    @property
    def channels(self) -> int:
        """Axis 1 of the legacy 4-D shape."""
        return self._legacy(1)

    @property
    def height(self) -> int:
        """Axis 2 of the legacy 4-D shape."""
        return self._legacy(2)

    @property
    def width(self) -> int:
        """Axis 3 of the legacy 4-D shape."""
        return self._legacy(3)

    def _legacy(self, axis: int) -> int:
        return int(self.shape[axis]) if axis < len(self.shape) else 1


class ReshapedBlob(Blob):
    """A param that another layer owns, in this layer's shape of as many elements."""

    def __init__(self, owner: "BlobOwner", name: str, shape: Shape) -> None:
        super().__init__(owner, name)
        self._shape = shape
        self._shown: dict[str, Array] = {}  # held, so that shadows are carried back

    @property
    def data(self) -> Array:
        """See Blob."""
        return self._reshaped("data", super().data)

    @property
    def diff(self) -> Array:
        """See Blob."""
        return self._reshaped("diff", super().diff)

    @property
    def shape(self) -> Shape:
        """See Blob."""
        return self._shape

    def _reshaped(self, kind: str, shown: Array) -> Array:
        self._shown[kind] = shown
        view = shown.view()
        view.shape = self._shape  # never a copy: that would be an error
        return view


class BlobOwner:
    """What a Blob asks of the net behind it."""

    def blob_data(self, name: str) -> Array:
        """The values of a blob."""
        raise NotImplementedError

    def blob_diff(self, name: str) -> Array:
        """The gradient of a blob."""
        raise NotImplementedError

    def blob_shape(self, name: str) -> Shape:
        """The shape of a blob."""
        raise NotImplementedError

    def blob_reshape(self, name: str, shape: Sequence[int]) -> None:
        """Give a blob another shape."""
        raise NotImplementedError
