"""Products of matrices in C order, by cuBLAS, into memory that is there already."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.kernels import Call, pointer
from geeps_caffe.engines.cuda.cublas import NO_TRANSPOSE, TRANSPOSE, Cublas

_OPERATIONS = (NO_TRANSPOSE, TRANSPOSE)
_MOST = (1 << 31) - 1  # cuBLAS takes extents as 32-bit numbers


@dataclass(frozen=True)
class Matrix:
    """A matrix, or a batch of them `step` elements apart, at the start of an array.

    rows and columns are those in memory; `transposed` says how it takes part.
    """

    array: Array  # float32, C order
    rows: int
    columns: int
    transposed: bool = False
    step: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """As it takes part."""
        own = (self.rows, self.columns)
        return own[::-1] if self.transposed else own


class Matrices:
    """The matrix products of one device, on its queue of computing."""

    def __init__(self, blas: Cublas) -> None:
        self._blas = blas
        self._numbers = np.array([0, 1], np.float32)  # read by cuBLAS at each call

    def bind(
        self, a: Matrix, b: Matrix, c: Matrix, batch: int = 1, *, add: bool = False
    ) -> Call:
        """c = a b, or c += a b, for each of a batch.

        cuBLAS thinks in columns, in which memory in C order is the transpose; so it
        is asked for c' = b' a'.
        """
        (m, k), (k2, n) = a.shape, b.shape
        assert k == k2 and (m, n) == c.shape and not c.transposed
        assert max(m, n, k, batch) <= _MOST
        ops = (_OPERATIONS[b.transposed], _OPERATIONS[a.transposed])
        head = (self._blas.handle, *ops, n, m, k)
        one = self._numbers[1:].ctypes.data
        plus = self._numbers[int(add) :].ctypes.data
        left, right, result = ((pointer(x.array), x.columns, x.step) for x in (b, a, c))
        kept = (a, b, c, self._numbers, self._blas)
        args: tuple[Any, ...]
        if batch == 1:
            args = (*head, one, *left[:2], *right[:2], plus, *result[:2])
            return _Product(self._blas.sgemm, args, kept)
        args = (*head, one, *left, *right, plus, *result, batch)
        return _Product(self._blas.sgemm_batched, args, kept)


@dataclass(frozen=True)
class _Product:
    """A call of cuBLAS, and the arrays behind its pointers, which it keeps alive."""

    multiply: Callable[..., object]
    args: tuple[Any, ...]
    kept: tuple[Any, ...]

    def __call__(self) -> None:
        self.multiply(*self.args)
