"""What the operations of the cuda engine are made of: a device, and a bound pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.device.array import Array, ArrayModule, Shape
from geeps_caffe.device.kernels import Call, Kernels
from geeps_caffe.engines.cuda.matrices import Matrices
from geeps_caffe.engines.engine import Request, SavedArray


@dataclass(frozen=True)
class Kit:
    """A device's libraries."""

    cupy: ArrayModule
    kernels: Kernels
    matrices: Matrices
    cudnn: Any = None  # a cudnn.Cudnn, where it is installed

    def constant(self, values: Array) -> Array:
        """A small array that kernels read."""
        found: Array = self.cupy.asarray(values)
        return found


@dataclass(frozen=True)
class Pass:
    """One pass over arrays: what an operation's functions bind."""

    kit: Kit
    request: Request
    ports: Mapping[str, Array]
    scratch: Array | None  # float32, flat

    @property
    def operation(self) -> Any:
        """One of engines.operations."""
        return self.request.operation

    def kernel(self, file: str, name: str, n: int, *args: Any) -> Call:
        """A launch of a kernel of `file`."""
        return self.kit.kernels.bind(file, name, n, *args)

    def workspace(self, begin: int, size: int) -> Array:
        """Floats of the scratch block."""
        assert self.scratch is not None
        return self.scratch[begin : begin + size]


Bind: TypeAlias = Callable[[Pass], list[Call]]


def no_scratch(request: Request) -> int:
    """For operations that need no memory of their own."""
    del request
    return 0


def anything(request: Request) -> bool:
    """For operations that take all shapes."""
    del request
    return True


@dataclass(frozen=True)
class Entry:
    """An operation on the GPU.

    `saved`: what forward leaves for backward where it is not what the reference
    leaves; `scratch`: bytes; `accepts`: whether the shapes are ones for kernels.
    """

    forward: Bind
    backward: Bind
    scratch: Callable[[Request], int] = no_scratch
    accepts: Callable[[Request], bool] = anything
    saved: tuple[SavedArray, ...] | None = None
    implementation: str = "cuda"


def split(shape: Shape, axis: int) -> tuple[int, int, int]:
    """How many before an axis, on it, and after it.

    >>> split((2, 3, 4, 5), 1)
    (2, 3, 20)
    """
    axis %= len(shape)
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def by_channel(shape: Shape) -> tuple[int, int, int]:
    """Images, channels (1 if there is but one axis) and pixels.

    >>> by_channel((9,)), by_channel((4, 7))
    ((9, 1, 1), (4, 7, 1))
    """
    return split(shape, 1) if len(shape) > 1 else (shape[0], 1, 1)


def windows_table(rows: Sequence[Sequence[int]]) -> Array:
    """What windows.cuh reads: rows of kernel, stride, pad, dilation, image, out."""
    missing = [(1, 1, 0, 1, 1, 1)] * (3 - len(rows))
    return np.array([*missing, *rows], np.int32)
