"""What holds for every kernel file."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.device.kernels import kernel_files, read_signatures, read_source
from tests.cuda_src.build import HostFunction, run_tail

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


def huge(n, dtype=np.float32):
    """Memory that is taken only where it is touched."""
    return np.zeros(n, dtype)


@pytest.mark.parametrize("extra", [0, 1])
def test_the_last_of_more_than_2_31_elements(extra):
    n = 2**31 + 5 + extra
    x, y = huge(n), huge(n)
    x[-1] = 3
    run_tail("activation.cu", "relu_forward", n, x, y, 0.0)
    assert y[-1] == 3


def test_rows_beyond_2_31_elements():
    width, rows = 2**16, 2**15 + 1
    x, total = huge(rows * width), np.zeros(rows, np.float32)
    x[-width:] = 1
    run_tail("broadcast.cu", "sum_over", rows, x, total, 1, width)
    assert total[-1] == width


def crop_last(n):
    """The window is all rows but the first."""
    rows, columns = n // 2**15, 2**15
    table = [(rows, rows + 1, 1), (columns, columns, 0)]
    whole, part = huge((rows + 1) * columns), huge(rows * columns)
    return whole, part, np.array(table, np.int64)


def test_crops_beyond_2_31_elements():
    whole, part, geometry = crop_last(2**31 + 2**15)
    whole[-1] = 3
    run_tail("crop.cu", "crop_forward", part.size, whole, part, geometry, 2)
    assert part[-1] == 3
    whole[-1] = 0
    run_tail("crop.cu", "crop_backward", whole.size, part, whole, geometry, 2)
    assert whole[-1] == 3


def test_tiles_beyond_2_31_elements():
    inner = 2**30 + 3
    x, y, dx = huge(inner), huge(2 * inner), huge(inner)
    x[-1] = 3
    run_tail("tile.cu", "tile_forward", y.size, x, y, 2, inner)
    assert y[-1] == 3
    y[inner - 1] = 4
    run_tail("tile.cu", "tile_backward", inner, y, dx, 2, inner)
    assert dx[-1] == 7


def test_slices_beyond_2_31_elements():
    """The last row of a part whose own and whose bottom's rows are this long."""
    row, width = 2**30 + 9, 2**30 + 5
    x, y = huge(3 * row), huge(3 * width)
    x[2 * row + width - 1] = 3
    run_tail("concat.cu", "copy_rows", y.size, x, row, y, width, width)
    assert y[-1] == 3


def test_neighbours_beyond_2_31_elements():
    rows, columns = 2**16 + 1, 2**15
    n, place = rows * columns, (3, rows, columns, 1.0, 1.0)
    x, scale, y = huge(n), huge(n), huge(n)
    x[-1], x[-2 - columns] = 1, 2
    run_tail("lrn_within.cu", "lrn_within_forward", n, x, scale, y, *place)
    assert (scale[-1], y[-1]) == (6, np.float32(1) / 6)
    scale[[-2, -columns - 1, -columns - 2]] = 1
    run_tail("lrn_within.cu", "lrn_within_backward", n, x, x, scale, y, *place)
    expected = 1 / 6 - (4 + 1 / 36)
    np.testing.assert_allclose(y[-1], expected, 1e-6)


def test_pictures_beyond_2_31_elements():
    """The second is mirrored, so its last value comes from its last row's begin."""
    height, width = 2**15, 2**15 + 1
    n = 2 * height * width
    pixels, y, zero = huge(n, np.uint8), huge(n), np.zeros(1, np.float32)
    rows = [(0, 0, width, 1, 0, 0), (n // 2 + width - 1, 0, width, -1, 0, 0)]
    pixels[-width] = 3
    args = (pixels, np.array(rows, np.int64), zero, y, 1, height, width, 0, 0, 1.0)
    run_tail("transform.cu", "transform", n, *args)
    assert y[-1] == 3


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
