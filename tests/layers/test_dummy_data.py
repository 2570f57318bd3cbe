import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import run_net

TEXT = """layer {{ name: "l" type: "DummyData" top: "a" top: "b"
           dummy_data_param {{ {} }} }}"""
SHAPES = "shape { dim: 2 dim: 3 } shape { dim: 4 }"


def _data(param):
    return run_net(TEXT.format(param)).data


def test_tops_are_filled_by_their_fillers():
    data = _data(f"{SHAPES} data_filler {{ value: 1.5 }} data_filler {{ value: -2 }}")
    np.testing.assert_array_equal(data["a"], np.full((2, 3), 1.5))
    np.testing.assert_array_equal(data["b"], np.full(4, -2))


@pytest.mark.parametrize(
    ("param", "shapes"),
    [
        (SHAPES, [(2, 3), (4,)]),
        ("shape { dim: 2 }", [(2,), (2,)]),
        ("num: 2 channels: 3 height: 4 width: 5", [(2, 3, 4, 5)] * 2),
        ("num: 2 num: 9 channels: 3 height: 4 width: 5 width: 1", None),
    ],
)
def test_shapes_come_in_the_new_form_and_the_old(param, shapes):
    data = _data(param)
    expected = shapes or [(2, 3, 4, 5), (9, 3, 4, 1)]
    assert [data["a"].shape, data["b"].shape] == expected
    assert not data["a"].any()


def test_random_fillers_draw_anew_and_again_the_same():
    param = f'{SHAPES} data_filler {{ type: "gaussian" }}'
    net = run_net(TEXT.format(param))
    first = net.data["a"].copy()
    net.forward()
    assert (net.data["a"] != first).all()
    np.testing.assert_array_equal(_data(param)["a"], first)


def test_constants_stay_as_they_are_where_tops_are_kept():
    net = run_net(TEXT.format(SHAPES + " data_filler { value: 3 }"))
    (call,) = net.tape
    call.layer.keeps_tops = True
    call.top[0].data[...] = 7
    call.layer.forward(call.run, call.bottom, call.top)
    assert (net.data["a"] == 7).all()
    net.forward()  # into new arrays
    assert (net.data["a"] == 3).all()


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("", "has 0 shape entries for 2 tops; give one for all tops, or one"),
        (SHAPES + " data_filler { }" * 3, "has 3 data_filler entries for 2 tops"),
        (SHAPES + " num: 1", "has shape and the old num; keep shape"),
        ("num: 1 channels: 1 height: 1", "has 0 width entries for 2 tops"),
        (SHAPES + ' data_filler { type: "gausian" }', "data_filler: unknown filler"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(param, message):
    with pytest.raises(LayerError, match=message):
        _data(param)
