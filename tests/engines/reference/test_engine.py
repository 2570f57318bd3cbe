import numpy as np

from geeps_caffe.engines.engine import Request, plain_layout
from geeps_caffe.engines.operations import LRN, Activation, InnerProduct
from geeps_caffe.engines.reference.engine import ReferenceEngine

ENGINE = ReferenceEngine()


def test_everything_is_plain_in_the_requests_dtype():
    shapes = {"bottom0": (2, 3), "param0": (4, 3), "top0": (2, 4)}
    request = Request(
        InnerProduct(1, False, False), "forward", shapes, dtype=np.float64
    )
    layouts = ENGINE.describe(request).layouts
    assert layouts == {p: plain_layout(s, np.float64) for p, s in shapes.items()}


def test_forward_saves_for_training_alone():
    request = Request(LRN(5, 1, 1, 1), "forward", {"bottom0": (1, 2), "top0": (1, 2)})
    assert [s.shape for s in ENGINE.describe(request).saved] == [(1, 2)]
    alone = Request(request.operation, "forward", request.shapes, training=False)
    assert ENGINE.describe(alone).saved == ()


def test_backward_names_only_what_it_reads():
    shapes = dict.fromkeys(("bottom0", "top0", "top0.diff", "bottom0.diff"), (2, 3))
    layouts = ENGINE.describe(Request(Activation("relu"), "backward", shapes)).layouts
    assert set(layouts) == {"top0", "top0.diff", "bottom0.diff"}


def test_a_bound_call_computes_into_the_arrays():
    x, y = np.array([-1.0, 2.0]), np.empty(2)
    shapes = {"bottom0": (2,), "top0": (2,)}
    request = Request(Activation("relu"), "forward", shapes, dtype=np.float64)
    description = ENGINE.describe(request)
    call = ENGINE.bind(request, description, {"bottom0": x, "top0": y}, None)
    call()
    assert y.tolist() == [0, 2]
    x[0] = 5
    call()
    assert y.tolist() == [5, 2]


def test_a_reorder_is_a_copy():
    source, target = np.arange(6.0), np.empty((2, 3))
    plain = plain_layout((2, 3), np.float64)
    ENGINE.bind_reorder((2, 3), (source, plain), (target, plain), np.float64)()
    assert target.tolist() == [[0, 1, 2], [3, 4, 5]]
