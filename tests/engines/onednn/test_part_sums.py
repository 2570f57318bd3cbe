"""An inner product's gradient, added up over parts while these are made."""

from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.config.exact import count_parts
from geeps_caffe.device.array import allocate
from geeps_caffe.device.tree import add_tree
from geeps_caffe.engines.engine import Request, plain_layout
from geeps_caffe.engines.onednn.engine import OneDnnEngine
from geeps_caffe.engines.onednn.threads import set_openmp_threads
from geeps_caffe.engines.operations import InnerProduct

#: Inputs and outputs, some of which fill no block; weights as they are or transposed.
CASES = [(800, 500, False), (650, 101, False), (810, 100, True), (1024, 64, False)]


def values_of(inputs, outputs, records):
    rng = np.random.default_rng(5)
    bottom = rng.standard_normal((records, inputs)).astype(np.float32)
    return bottom, rng.standard_normal((records, outputs)).astype(np.float32)


def request_of(engine, case, records):
    """Of the params' gradients, for a table that lies as the forward pass likes it."""
    inputs, outputs, transpose = case
    shapes = {
        "bottom0": (records, inputs),
        "param0": (inputs, outputs) if transpose else (outputs, inputs),
        "param1": (outputs,),
        "top0": (records, outputs),
    }
    given = {"bottom0": plain_layout(shapes["bottom0"])}
    operation, parts = InnerProduct(1, transpose, True), count_parts(records)
    forward = Request(operation, "forward", shapes, given, parts=parts)
    given = dict(engine.describe(forward).layouts)
    given["top0.diff"] = given["top0"]
    diffs = {f"{port}.diff": shapes[port] for port in ("top0", "param0", "param1")}
    return replace(forward, direction="backward", shapes=shapes | diffs, given=given)


def described(engine, request):
    found = engine.describe(request)
    if found is None and "AVX-512" not in engine.version.text:
        pytest.skip("parts are made and added up one by one on this processor")
    return found


def gradients(engine, case, bottom, diff):
    """Of weights and bias, in C order."""
    request = request_of(engine, case, len(bottom))
    found = described(engine, request)
    arrays = {"bottom0": bottom, "top0.diff": diff}
    for port in ("param0.diff", "param1.diff"):
        arrays[port] = allocate(found.layouts[port].nbytes)
        arrays[port].fill(255)
        if found.layouts[port].plain:
            floats = arrays[port].view(np.float32)
            arrays[port] = floats.reshape(request.shapes[port])
    scratch = allocate(found.scratch)
    scratch.fill(255)
    engine.bind(request, found, arrays, scratch)()
    shape = request.shapes["param0.diff"]
    weights = np.empty(shape, np.float32)
    lies = found.layouts["param0.diff"]
    target = (weights, plain_layout(shape))
    engine.bind_reorder(shape, (arrays["param0.diff"], lies), target, np.float32)()
    return weights, arrays["param1.diff"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("records", [20, 64, 128, 100])
def test_gradients_are_sums_over_all_records(engine, case, records):
    inputs, outputs, transpose = case
    bottom, diff = values_of(inputs, outputs, records)
    weights, bias = gradients(engine, case, bottom, diff)
    expected = diff.T.astype(float) @ bottom
    expected = expected.T if transpose else expected
    np.testing.assert_allclose(weights, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(bias, diff.sum(0, dtype=float), rtol=1e-4, atol=1e-4)


@pytest.fixture
def as_before(engine):
    """Engines that a test opens leave the number of threads as it was."""
    yield
    set_openmp_threads(engine.kit.api.library, engine.threads)


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("records", [64, 128, 100])
def test_they_have_the_bits_of_parts_that_others_make_and_add_up(case, records):
    bottom, diff = values_of(*case[:2], records)
    whole = gradients(OneDnnEngine(3), case, bottom, diff)
    parts = count_parts(records)
    own = [
        gradients(
            OneDnnEngine(1),
            case,
            np.ascontiguousarray(bottom[part::parts]),
            np.ascontiguousarray(diff[part::parts]),
        )
        for part in range(parts)
    ]
    for found, made in zip(whole, zip(*own, strict=True), strict=True):
        np.testing.assert_array_equal(found, add_tree(made, np.empty_like(found)))


def test_the_padding_of_blocks_is_zero(engine):
    request = request_of(engine, CASES[1], 64)
    found = described(engine, request)
    layout = found.layouts["param0.diff"]
    made = allocate(layout.nbytes)
    made.fill(255)
    bottom, diff = values_of(*CASES[1][:2], 64)
    arrays = {"bottom0": bottom, "top0.diff": diff, "param0.diff": made}
    arrays["param1.diff"] = np.empty(101, np.float32)
    if layout.plain:
        arrays["param0.diff"] = made.view(np.float32).reshape(101, 650)
    engine.bind(request, found, arrays, allocate(found.scratch))()
    floats = made.view(np.float32)
    assert np.count_nonzero(floats) == 101 * 650
    assert np.isfinite(floats).all()


@pytest.mark.parametrize("case", [(500, 10, False), (100, 100, False)])
def test_small_gradients_are_left_to_those_who_make_parts(engine, case):
    assert engine.describe(request_of(engine, case, 64)) is None
