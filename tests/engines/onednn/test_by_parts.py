"""An inner product in parts: a record's bits don't depend on batch and threads."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.config.exact import count_parts
from geeps_caffe.device.array import allocate
from geeps_caffe.engines.engine import Request, plain_layout
from geeps_caffe.engines.onednn.engine import OneDnnEngine
from geeps_caffe.engines.onednn.threads import openmp_threads
from geeps_caffe.engines.operations import InnerProduct

#: Few outputs: oneDNN cuts the sums over inputs among four threads.
CASES = [(1152, 2, False), (500, 100, False), (3000, 84, False), (144, 84, True)]


def arrays_of(engine, shapes, layouts, values):
    arrays = {}
    for port, layout in layouts.items():
        block, plain = allocate(layout.nbytes), plain_layout(shapes[port])
        if layout.plain:
            block = block.view(np.float32).reshape(shapes[port])
        if port in values:
            source, target = (values[port], plain), (block, layout)
            engine.bind_reorder(shapes[port], source, target, np.float32)()
        arrays[port] = block
    return arrays


def bind(engine, request, values):
    found = engine.describe(request)
    arrays = arrays_of(engine, request.shapes, found.layouts, values)
    scratch = allocate(found.scratch) if found.scratch else None
    return engine.bind(request, found, arrays, scratch), arrays, found


def passes(engine, case, values):
    """Top and bottom's gradient, with as many parts as the batch has."""
    operation = InnerProduct(1, case[2], True)
    shapes = {port: value.shape for port, value in values.items()}
    shapes["top0"] = shapes.pop("top0.diff")
    parts = count_parts(shapes["bottom0"][0])
    given = {"bottom0": plain_layout(shapes["bottom0"])}
    forward = Request(operation, "forward", shapes, given, parts=parts)
    call, arrays, found = bind(engine, forward, values)
    call()
    shapes = shapes | {
        "top0.diff": shapes["top0"],
        "bottom0.diff": shapes["bottom0"],
    }
    given = dict(found.layouts) | {"top0.diff": found.layouts["top0"]}
    backward = replace(forward, direction="backward", shapes=shapes, given=given)
    call, more, _ = bind(engine, backward, values)
    call()
    return arrays["top0"], more["bottom0.diff"]


def random_values(case, records):
    inputs, outputs, transpose = case
    rng = np.random.default_rng(3)
    shapes = {
        "bottom0": (records, inputs),
        "param0": (inputs, outputs) if transpose else (outputs, inputs),
        "param1": (outputs,),
        "top0.diff": (records, outputs),
    }
    return {
        port: rng.standard_normal(shape).astype(np.float32)
        for port, shape in shapes.items()
    }


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("records", [64, 100])
def test_four_threads_make_of_a_record_what_one_makes_of_a_fourth(case, records):
    values = random_values(case, records)
    whole = passes(OneDnnEngine(4), case, values)
    quarter = dict(values)
    for port in ("bottom0", "top0.diff"):
        quarter[port] = np.ascontiguousarray(values[port][1::4])
    for all_records, some in zip(
        whole, passes(OneDnnEngine(1), case, quarter), strict=True
    ):
        np.testing.assert_array_equal(all_records[1::4], some)
    x, w = values["bottom0"], values["param0"].T
    expected = x @ (w.T if case[2] else w) + values["param1"]
    np.testing.assert_allclose(whole[0], expected, rtol=1e-3, atol=1e-3)


def test_a_row_alone_runs_on_one_thread_and_leaves_the_number_as_it_was():
    engine = OneDnnEngine(3)
    library = engine.kit.api.library
    seen = []
    call = engine.lanes.abreast([[lambda: seen.append(openmp_threads(library))]])
    library.omp_set_num_threads(ctypes.c_int(2))
    call()
    assert seen == [1]
    assert openmp_threads(library) == 2
