"""cuBLAS, as far as we call it, by NumPy."""

import ctypes

import numpy as np
from numpy.lib.stride_tricks import as_strided


class Blas:
    CUBLAS_OP_N, CUBLAS_OP_T = 0, 1

    def __init__(self, machine):
        self.machine = machine

    def sgemm(
        self,
        handle,
        transa,
        transb,
        m,
        n,
        k,
        alpha,
        A,
        lda,
        B,
        ldb,
        beta,
        C,
        ldc,
    ):
        one = (handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta)
        self.sgemmStridedBatched(*one, C, ldc, 0, 1)

    def sgemmStridedBatched(
        self,
        handle,
        transa,
        transb,
        m,
        n,
        k,
        alpha,
        A,
        lda,
        strideA,
        B,
        ldb,
        strideB,
        beta,
        C,
        ldc,
        strideC,
        batchCount,
    ):
        """C = alpha op(A) op(B) + beta C, in columns, for g matrices."""
        ta, tb, g = transa, transb, batchCount
        a, b, c, sa, sb, sc = A, B, C, strideA, strideB, strideC
        alpha, beta = _number(alpha), _number(beta)
        spans = [
            _span(at, (k, m) if t else (m, k), ld, step, g)
            for at, t, ld, step, (m, k) in (
                (a, ta, lda, sa, (m, k)),
                (b, tb, ldb, sb, (k, n)),
                (c, 0, ldc, sc, (m, n)),
            )
        ]

        def run():
            left = _matrix(a, (k, m) if ta else (m, k), lda, sa, g)
            right = _matrix(b, (n, k) if tb else (k, n), ldb, sb, g)
            out = _matrix(c, (m, n), ldc, sc, g)
            left = left.swapaxes(1, 2) if ta else left
            right = right.swapaxes(1, 2) if tb else right
            product = alpha * np.matmul(left, right)
            out[...] = product + beta * out if beta else product

        self.machine.submit(run, spans[:2], spans[2:], "matrix product")


def _number(at):
    return np.float32(ctypes.c_float.from_address(at).value)


def _extent(shape, ld, step, batch):
    rows, columns = shape
    return (batch - 1) * step + (columns - 1) * ld + rows


def _span(at, shape, ld, step, batch):
    return at, at + 4 * _extent(shape, ld, step, batch)


def _matrix(at, shape, ld, step, batch):
    size = _extent(shape, ld, step, batch)
    flat = np.frombuffer((ctypes.c_float * size).from_address(at), np.float32)
    return as_strided(flat, (batch, *shape), (4 * step, 4, 4 * ld))
