"""What holds for every kernel file."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.device.kernels import kernel_files, read_signatures, read_source
from tests.cuda_src.build import HostFunction

HERE = Path(__file__).parent
FILES = kernel_files()
ALL = [(file, kernel) for file in FILES for kernel in read_signatures(file)]


@pytest.mark.parametrize(("file", "kernel"), ALL)
def test_every_kernel_has_a_test(file, kernel):
    test = HERE / f"test_{file.removesuffix('.cu')}.py"
    assert f'"{kernel}"' in test.read_text()


@pytest.mark.parametrize("file", FILES)
def test_no_kernel_is_missed_by_the_reader(file):
    assert read_source(file).count("__global__") == len(read_signatures(file))


@pytest.mark.parametrize(("file", "kernel"), ALL)
def test_one_n_comes_first_and_is_of_64_bits(file, kernel):
    first = read_signatures(file)[kernel].parameters[0]
    assert (first.type, first.name) == ("long long", "n")


@pytest.mark.parametrize("file", FILES)
def test_kernels_use_no_header_of_the_system(file):
    assert not re.search("#include", read_source(file))


@pytest.mark.parametrize(("file", "kernel"), ALL)
def test_every_kernel_strides_over_the_grid(file, kernel):
    start = read_source(file).index(f"void {kernel}(")
    body = read_source(file)[start:].split("\n}\n")[0]
    assert re.search(r"GRID_STRIDE_LOOP\(\w+, n\)|BLOCK_LOOP\(\w+, n\)", body)


def test_division_of_indices(tmp_path):
    """quotient() on both sides of 2^32."""
    source = (
        read_source("tile.cu")
        + """
extern "C" __global__ void divide(long long n, const long long* a,
                                  const long long* b, long long* c) {
  GRID_STRIDE_LOOP(i, n) { c[i] = quotient(a[i], b[i]); }
}
"""
    )
    numbers = [1, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 + 3]
    a, b = np.array(list(product([0, *numbers], numbers)), np.int64).T.copy()
    c = np.zeros_like(a)
    HostFunction(source, "divide")((1,), (256,), (np.int64(a.size), a, b, c))
    np.testing.assert_array_equal(c, a // b)
