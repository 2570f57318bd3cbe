import numpy as np
import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.wire_types import find_wire_type

NUMBERS = np.array([0, 1, -2.5, 1e-3, 3.14159265, -65504, 1e-8], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "relative", "absolute"),
    [("fp32", 0, 0), ("fp16", 2**-11, 6e-8), ("bf16", 2**-8, 0)],
)
def test_numbers_come_back_as_near_as_the_format_is(name, relative, absolute, dtype):
    wire, numbers = find_wire_type(name), NUMBERS.astype(dtype)
    data = wire.encode(numbers)
    assert data.nbytes == wire.nbytes(numbers.size, dtype)
    back = wire.decode(data.view(np.uint8), np.dtype(dtype))
    assert back.dtype == dtype
    np.testing.assert_allclose(back, numbers, relative, absolute)


def test_brain_floats_are_rounded_to_the_nearest_and_to_even():
    wire = find_wire_type("bf16")
    one, step = 1.0, 2.0**-7
    numbers = np.array([one + step / 4, one + step / 2, one + 3 * step / 2], np.float32)
    back = wire.decode(wire.encode(numbers), np.dtype(np.float32))
    np.testing.assert_array_equal(back, [one, one, one + 2 * step])


@pytest.mark.parametrize("name", ["fp16", "bf16"])
def test_what_is_no_number_stays_so_and_harms_no_other(name):
    wire = find_wire_type(name)
    numbers = np.array([np.nan, np.inf, -np.inf, 1e6, -1e6, 3.0], np.float32)
    back = wire.decode(wire.encode(numbers), np.dtype(np.float32))
    np.testing.assert_array_equal(back[:3], numbers[:3])
    np.testing.assert_allclose(back[3:], numbers[3:], 2**-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1e30, 7e4, 1.0, 1e-9, 1e-30])
def test_halves_keep_eleven_bits_of_large_and_small_numbers_alike(size, dtype):
    wire = find_wire_type("fp16")
    numbers = size * np.array([1.0, -0.3, 1e-3, 7e-9], dtype)
    back = wire.decode(wire.encode(numbers).view(np.uint8), np.dtype(dtype))
    np.testing.assert_allclose(back, numbers, 2**-11)


@pytest.mark.parametrize("numbers", [[0.0, -0.0], [3.4e38, 1e30], [1e-45, 0.0]])
def test_halves_bear_the_ends_of_the_range(numbers):
    wire = find_wire_type("fp16")
    given = np.array(numbers, np.float32)
    back = wire.decode(wire.encode(given), np.dtype(np.float32))
    np.testing.assert_allclose(back, given, 2**-11, 1e-45)


@pytest.mark.parametrize("exponent", [-32768, 32767])
def test_an_exponent_that_no_host_sends_is_borne(exponent):
    wire = find_wire_type("fp16")
    data = wire.encode(np.ones(2, np.float32))
    data[-1:].view(np.int16)[0] = exponent
    assert wire.decode(data, np.dtype(np.float32)).shape == (2,)


def test_other_names_are_refused():
    with pytest.raises(ParameterServerError, match="did you mean 'fp16'"):
        find_wire_type("fp61")
