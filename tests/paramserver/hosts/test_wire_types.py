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
def test_what_is_no_number_stays_none_and_the_largest_stay_finite(name):
    wire = find_wire_type(name)
    numbers = np.array([np.nan, 1e6, -1e6], np.float32)
    back = wire.decode(wire.encode(numbers), np.dtype(np.float32))
    assert np.isnan(back[0])
    assert np.isfinite(back[1:]).all()
    assert back[1] > 6e4 and back[2] < -6e4


def test_other_names_are_refused():
    with pytest.raises(ParameterServerError, match="did you mean 'fp16'"):
        find_wire_type("fp61")
