"""What every engine's lanes must do: the same bits on any of them, side by side."""

import threading

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.engines.engine import Request, plain_layout
from geeps_caffe.engines.onednn.engine import OneDnnEngine
from geeps_caffe.engines.onednn.lanes import OneDnnLanes
from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.operations import Convolution, InnerProduct
from geeps_caffe.engines.reference.engine import ReferenceEngine

KINDS = ["reference", "onednn 1", "onednn 2", "onednn 3"]
#: Few channels: oneDNN parts the sum over records among its threads.
FEW = Convolution((5, 5), (1, 1), (0, 0), (1, 1), 1, True)
CASES = {
    "convolution": (FEW, (16, 1, 28, 28), (16, 20, 24, 24), (20, 1, 5, 5)),
    "inner product": (InnerProduct(1, False, True), (16, 90), (16, 10), (10, 90)),
}


def opened(kind):
    name, _, threads = kind.partition(" ")
    if name == "reference":
        return ReferenceEngine()
    try:
        return OneDnnEngine(int(threads))
    except OneDnnMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=KINDS, scope="module")
def engine(request):
    return opened(request.param)


def gradients(engine, name, rng):
    """A pass for params' gradients on each lane: the calls, and what they write."""
    operation, bottom, top, weights = CASES[name]
    shapes = {"bottom0": bottom, "param0": weights, "param1": (top[1],), "top0": top}
    shapes |= {"top0.diff": top, "param0.diff": weights, "param1.diff": (top[1],)}
    given = {port: plain_layout(shapes[port]) for port in ("bottom0", "top0.diff")}
    given |= {"param0": plain_layout(weights), "top0": plain_layout(top)}
    request = Request(operation, "backward", shapes, given)
    found = engine.lanes.describe(request)
    values = {
        port: rng.standard_normal(shapes[port]).astype(np.float32)
        for port in ("bottom0", "top0.diff", "param0")
    }
    calls, results = [], []
    for lane in range(engine.lanes.count):
        arrays = {}
        for port, layout in found.layouts.items():
            block = allocate(layout.nbytes)
            if layout.plain:
                block = block.view(np.float32).reshape(shapes[port])
                if port in values:
                    block[...] = values[port]
            elif port in values:
                plain = (values[port], plain_layout(shapes[port]))
                target = (block, layout)
                engine.bind_reorder(shapes[port], plain, target, np.float32)()
            arrays[port] = block
        scratch = allocate(found.scratch) if found.scratch else None
        calls.append(engine.lanes.bind(lane, request, found, arrays, scratch))
        results.append(arrays["param0.diff"])
    return calls, results


@pytest.mark.parametrize("name", CASES)
def test_each_lane_makes_the_same_bits(engine, name):
    calls, results = gradients(engine, name, np.random.default_rng(5))
    engine.lanes.abreast([[call] for call in calls])()
    one = ReferenceEngine() if engine.name == "reference" else opened("onednn 1")
    alone, (expected,) = gradients(one, name, np.random.default_rng(5))
    one.lanes.abreast([alone])()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_all_rows_run_in_their_order(engine):
    seen = {lane: [] for lane in range(engine.lanes.count)}
    rows = [
        [lambda i=i, lane=lane: seen[lane].append(i) for i in range(5)] for lane in seen
    ]
    call = engine.lanes.abreast(rows)
    for _ in range(3):
        call()
    assert all(found == [*range(5)] * 3 for found in seen.values())


def test_an_error_in_any_row_is_the_callers(engine):
    def fail():
        raise ZeroDivisionError(threading.get_ident())

    last = engine.lanes.count - 1
    rows = [[fail] if lane == last else [] for lane in range(last + 1)]
    call = engine.lanes.abreast(rows)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            call()


def test_threads_keep_what_they_have_of_pythons_between_calls(engine):
    own, seen = threading.local(), []

    def look():
        seen.append(hasattr(own, "known"))
        own.known = True

    rows = [[look] for _ in range(engine.lanes.count)]
    call = engine.lanes.abreast(rows)
    call()
    call()
    assert all(seen[len(rows) :])


class Interrupted:
    """A library whose threads never come to the rows: a signal was before them."""

    def __getattr__(self, name):
        return lambda *arguments: 1


def test_an_interrupt_that_no_row_has_seen_is_not_lost():
    call = OneDnnLanes(Interrupted(), 2, None).abreast([[], []])
    with pytest.raises(KeyboardInterrupt):
        call()


class NoOpenMp:
    """A library of another way of threading."""


def test_without_openmp_one_thread_runs_all_rows():
    lanes = OneDnnLanes(NoOpenMp(), 2, None)
    seen = []
    lanes.abreast([[lambda: seen.append(1)], [lambda: seen.append(2)]])()
    assert seen == [1, 2]
