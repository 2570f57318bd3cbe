"""Blobs as the methods of a user's Python layer see them (pycaffe's Blob)."""

from typing import Any

import numpy as np

from geeps_caffe.device.array import Array, Shape, count


class UserBlob:
    """data and diff as NumPy arrays, and `reshape` for tops.

    A diff that nobody asked for is memory of the blob's own, so that writing to it
    does no harm; what forward puts there is still there in backward.
    """

    def __init__(self, shape: Shape = (), dtype: Any = np.float32) -> None:
        self._memory: Array = np.zeros(count(shape), dtype)
        self._diff: Array | None = None
        self._lent = False  # the diff is others' memory
        self.reshape(*shape)

    @property
    def data(self) -> Array:
        """The values."""
        return self._data

    @property
    def diff(self) -> Array:
        """The gradient."""
        if self._diff is None or self._diff.shape != self._data.shape:
            self._diff = np.zeros_like(self._data)
        return self._diff

    def reshape(self, *dims: int) -> None:
        """Take another shape; values are kept as far as the memory reaches.

        Raises:
            ValueError: an extent is below 0.
        """
        if any(extent < 0 for extent in dims):
            raise ValueError(f"reshape{dims}: expected extents of 0 or more")
        size = count(dims)
        if size > self._memory.size:
            self._memory = np.zeros_like(self._memory, shape=(size,))
        self._data = self._memory[:size].reshape(dims)

    def show(self, data: Array) -> None:
        """Stand for this array from now on."""
        self._data = data
        self._memory = data.reshape(-1)

    def show_diff(self, diff: Array) -> None:
        """Stand for this gradient, which takes over what was written before."""
        diff[...] = self.diff
        self._diff = diff

    def lend_diff(self, diff: Array) -> None:
        """Stand for this gradient, to be read alone, until it is returned."""
        self._diff, self._lent = diff, True

    def return_diff(self) -> None:
        """Keep no gradient that was lent."""
        if self._lent:
            self.forget_diff()

    def forget_diff(self) -> None:
        """The next diff starts at 0."""
        self._diff, self._lent = None, False

    @property
    def shape(self) -> Shape:
        """The present shape."""
        return self._data.shape

    @property
    def count(self) -> int:
        """The number of elements."""
        return self._data.size

    @property
    def num(self) -> int:
        """The extent of axis 0, 1 where there is none."""
        return self._extent(0)

    @property
    def channels(self) -> int:
        """The extent of axis 1, 1 where there is none."""
        return self._extent(1)

    @property
    def height(self) -> int:
        """The extent of axis 2, 1 where there is none."""
        return self._extent(2)

    @property
    def width(self) -> int:
        """The extent of axis 3, 1 where there is none."""
        return self._extent(3)

    def _extent(self, axis: int) -> int:
        return self.shape[axis] if axis < len(self.shape) else 1


class UserBlobs(list[UserBlob]):
    """The learnable blobs of a Python layer."""

    def add_blob(self, *dims: int) -> None:
        """Declare one more; what setup writes into its data is how it starts."""
        self.append(UserBlob(dims))
