"""The Python layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array, Shape, Shapes, count
from geeps_caffe.layers.base import Blob, Blobs, Layer, ParamSpec, Run
from geeps_caffe.layers.python_blob import UserBlob
from geeps_caffe.layers.python_class import make_user_layer


@dataclass(frozen=True)
class StartingValues:
    """A constant filler whose constant is an array: what setup wrote into a blob."""

    value: Array
    type: str = "constant"
    sparse: int = -1


class Python(Layer):
    """A layer of the user's: class `layer` of `module`, derived from caffe.Layer.

    Tops may take other shapes at each forward. Modules are found as Python finds
    them, and beside the prototxt. A layer without bottoms is a source of records:
    its forward runs before the net's, which takes on the shapes that it gives.
    """

    type_name = "Python"
    bottoms = (0, None)
    tops = (0, None)
    dynamic = True
    backward_reads = frozenset({"bottom", "top"})

    def setup(self, bottom: Shapes) -> None:
        """Make the user's object and run its setup."""
        self.user = make_user_layer(self)
        self.user_bottom = [UserBlob(shape) for shape in bottom]
        dtype = np.dtype(self.setting.dtype)
        self.user_top = [UserBlob(dtype=dtype) for _ in self.spec.top]
        self.reshaped = False  # its reshape for the next forward has been called
        self.loaded = False  # so has, of a source, its forward
        self.known: list[Shape] = []  # bottom shapes at the last infer_shapes
        self.bound: list[Shape] = []  # the largest tops at these
        self._call(self.user.setup, self.user_bottom, self.user_top)
        self.starts = [blob.data.copy() for blob in self.user.blobs]
        # Only layers without learnable blobs can run before the tables are open.
        self.is_source = not bottom and not self.user.blobs  # type: ignore[misc]

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """What the user's reshape gives the tops, or the most that they have had."""
        if self.reshaped:
            return self._top_shapes()
        if not self.bound or list(bottom) != self.known:
            for blob, shape in zip(self.user_bottom, bottom, strict=True):
                blob.reshape(*shape)
            self._call(self.user.reshape, self.user_bottom, self.user_top)
            self.known, self.bound = list(bottom), self._top_shapes()
        return self._top_shapes() if self.is_source else self.bound

    def starting_shapes(self, bottom: Shapes) -> Shapes:
        """The most that the tops have had; forward calls the user's reshape."""
        del bottom
        return self.bound

    def pending_shapes(self) -> Shapes | None:
        """As a source: the shapes of the next batch, which is made for it.

        Forward may reshape, too. One that works on a GPU's arrays waits for them.
        """
        if not self.reshaped:
            self._call(self.user.reshape, self.user_bottom, self.user_top)
            self.reshaped = True
        if self.is_source and not self.loaded and not self.user.on_device:
            self._call(self.user.forward, self.user_bottom, self.user_top)
            self.loaded = True
        return self._top_shapes()

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """The blobs that setup added, with the values it gave them."""
        del bottom
        return [
            ParamSpec(values.shape, StartingValues(values)) for values in self.starts
        ]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The user's reshape and forward, if they have not run for this batch."""
        if not self.loaded:
            self._run_forward(run, bottom, top)
        self.loaded = self.reshaped = False
        if not bottom and self._top_shapes() != [blob.shape for blob in top]:
            self.fail(
                f"forward reshaped its tops to {self._top_shapes()}, but the net runs "
                f"at {[blob.shape for blob in top]}; without bottoms a layer that has "
                "blobs or works on_device reshapes in its reshape(bottom, top) alone"
            )
        for user, blob in zip(self.user_top, top, strict=True):
            _deliver(run, user, blob)
        shapes = zip(self.bound, self._top_shapes(), strict=True)
        self.bound = [max(pair, key=count) for pair in shapes]

    def _run_forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The user's reshape and forward on the net's arrays."""
        self._show(run, bottom)
        for user, blob in zip(self.user_top, top, strict=True):
            user.show(self._writable(blob.data))
        if not self.reshaped:
            self._call(self.user.reshape, self.user_bottom, self.user_top)
        self._call(self.user.forward, self.user_bottom, self.user_top)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The user's backward; diffs that it does not write are 0."""
        self._show(run, bottom)
        for user, blob in zip(self.user_top, top, strict=True):
            user.show(self._shown(blob.data))
            user.forget_diff()
            if blob.diff is not None:
                self._show_top_diff(user, blob.diff)
        targets = [*zip(self.user_bottom, bottom, strict=True)]
        targets += zip(self.user.blobs, run.params, strict=True)
        for user, blob in targets:
            if blob.diff is not None and self._in_place(blob.diff):
                user.show_diff(blob.diff)
        wanted = [blob.diff is not None for blob in bottom]
        self._call(self.user.backward, self.user_top, wanted, self.user_bottom)
        for user in self.user_top:
            user.return_diff()
        for user, blob in targets:
            if blob.diff is not None and not self._in_place(blob.diff):
                blob.diff[...] = run.xp.asarray(user.diff)
            user.forget_diff()

    def _show(self, run: Run, bottom: Blobs) -> None:
        groups = ((self.user_bottom, bottom), (self.user.blobs, run.params))
        for users, blobs in groups:
            for user, blob in zip(users, blobs, strict=True):
                user.show(self._shown(blob.data))

    def _show_top_diff(self, user: UserBlob, diff: Array) -> None:
        """On a GPU the array itself; else a copy, which the user may write to."""
        if self._lends(diff):
            user.lend_diff(diff)
        else:
            user.diff[...] = self._shown(diff)

    def _lends(self, array: Array) -> bool:
        return self.user.on_device and not isinstance(array, np.ndarray)

    def _shown(self, array: Array) -> Array:
        """The array itself, or a copy of one on a GPU."""
        return array if self._in_place(array) else array.get()  # type: ignore[attr-defined]

    def _writable(self, array: Array) -> Array:
        """The array itself, or one for what is brought to the GPU afterwards.

        What lies there before is of others, who may be swapped out.
        """
        return array if self._in_place(array) else np.zeros(array.shape, array.dtype)

    def _in_place(self, array: Array) -> bool:
        """Whether the user's code can work on an array where it is."""
        return self.user.on_device or isinstance(array, np.ndarray)

    def _top_shapes(self) -> list[Shape]:
        return [blob.shape for blob in self.user_top]

    def _call(self, method: Callable[..., Any], *arguments: Sequence[Any]) -> None:
        """Run the user's code; its errors keep their trace and name the layer."""
        try:
            method(*arguments)
        except Exception as error:
            error.add_note(f"in {method.__name__} of {self.title}")
            raise


def _deliver(run: Run, user: UserBlob, blob: Blob) -> None:
    """Bring what the user wrote to the top, whatever shape it has now."""
    if user.shape != blob.shape:
        blob.resize(user.shape)
    if user.data is not blob.data:
        blob.data[...] = run.xp.asarray(user.data)
