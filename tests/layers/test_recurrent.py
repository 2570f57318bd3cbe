"""What holds for LSTM and RNN alike; test_lstm.py and test_rnn.py have their own."""

import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_net

TEXT = """layer {{ name: "l" type: "{}" {} {}
           recurrent_param {{ num_output: 3 {} }} }}"""
STATES = {"LSTM": 2, "RNN": 1}
#: cont is 0 at the start, so that differences do not see the state carried on
CONT = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])


@pytest.fixture(params=STATES)
def kind(request):
    return request.param


def _inputs(rng, static=False, feature=(2, 2)):
    inputs = {"a": rng.normal(size=(4, 2, *feature)), "b": CONT}
    return inputs | ({"c": rng.normal(size=(2, 5))} if static else {})


def _text(kind, inputs, tops=("y",), param=""):
    bottom = " ".join(f'bottom: "{name}"' for name in inputs)
    top = " ".join(f'top: "{name}"' for name in tops)
    return TEXT.format(kind, bottom, top, param)


def _exposed(kind, inputs, rng):
    states = [f"state{i}" for i in range(STATES[kind])]
    inputs = inputs | {name: rng.normal(size=(1, 2, 3)) for name in states}
    ends = [f"end{i}" for i in range(STATES[kind])]
    return _text(kind, inputs, ("y", *ends), "expose_hidden: true"), inputs


@pytest.mark.parametrize("static", [False, True])
def test_gradients_are_those_of_differences(kind, static, rng):
    inputs = _inputs(rng, static)
    check_gradient(_text(kind, inputs), inputs)


@pytest.mark.parametrize("static", [False, True])
def test_backward_reads_what_it_declares(kind, static, rng):
    inputs = _inputs(rng, static)
    check_backward_reads(_text(kind, inputs), inputs)


def test_the_state_is_carried_to_the_next_forward(kind, rng):
    inputs = _inputs(rng)
    going_on = inputs["b"].copy()
    going_on[0] = 1
    text = _text(kind, inputs)
    whole = run_net(
        text,
        {
            "a": np.concatenate([inputs["a"], inputs["a"]]),
            "b": np.concatenate([CONT, going_on]),
        },
    )
    net = run_net(text, inputs)
    first = net.data["y"].copy()
    net.forward(b=going_on)
    np.testing.assert_allclose(np.concatenate([first, net.data["y"]]), whole.data["y"])


def test_what_is_carried_has_a_name(kind, rng):
    net = run_net(_text(kind, _inputs(rng)), _inputs(rng))
    carried = net.layers[-1].carried
    assert list(carried) == ["h", "c"][: STATES[kind]]
    assert {array.shape for array in carried.values()} == {(2, 3)}


def test_exposed_states_go_in_and_out(kind, rng):
    inputs = _inputs(rng)
    text, exposed = _exposed(kind, inputs, rng)
    exposed["b"] = np.ones((4, 2))
    whole = run_net(text, exposed)
    half = {name: value[:2] for name, value in exposed.items() if name in "ab"}
    first = run_net(text, exposed | half)
    ends = {f"state{i}": first.data[f"end{i}"] for i in range(STATES[kind])}
    rest = {name: value[2:] for name, value in exposed.items() if name in "ab"}
    second = run_net(text, exposed | rest | ends)
    np.testing.assert_allclose(second.data["y"], whole.data["y"][2:])
    np.testing.assert_allclose(second.data["end0"], whole.data["end0"])
    assert not second.layers[-1].carried


def test_no_gradient_passes_through_exposed_states(kind, rng):
    text, inputs = _exposed(kind, _inputs(rng, static=True), rng)
    net = run_net(text, inputs)
    net.backward({"y": np.ones((4, 2, 3))})
    np.testing.assert_array_equal(net.diff["state0"], np.zeros((1, 2, 3)))
    assert "b" not in net.diff
    assert net.diff["c"].any()


def test_another_batch_size_starts_afresh(kind, rng):
    net = run_net(_text(kind, _inputs(rng)), _inputs(rng))
    net.forward(a=np.ones((1, 4, 2, 2)), b=np.ones((1, 4)))
    np.testing.assert_allclose(net.data["y"][0], net.data["y"][0, :1].repeat(4, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": np.zeros((4, 3))}, r"bottom.1. .4, 3.; expected .T, N, ...."),
        ({"a": np.zeros(4)}, r"bottom.0. has shape .4,. .* expected .T, N, ...."),
        ({"c": np.zeros((3, 5))}, r"the static input, has shape .3, 5.; .* N 2 as"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(kind, change, message, rng):
    inputs = _inputs(rng, static=True) | change
    with pytest.raises(LayerError, match=message):
        run_net(_text(kind, inputs), inputs)


def test_a_state_of_another_shape_is_refused(kind, rng):
    text, inputs = _exposed(kind, _inputs(rng), rng)
    inputs["state0"] = np.zeros((2, 3))
    with pytest.raises(LayerError, match=r"bottom.2., a state, .* expected .1, 2, 3."):
        run_net(text, inputs)


def test_bottoms_and_tops_are_counted(kind, rng):
    inputs = _inputs(rng)
    text = _text(kind, inputs, param="expose_hidden: true")
    with pytest.raises(LayerError, match=f"it takes {2 + STATES[kind]} bottoms, or"):
        run_net(text, inputs)


def test_num_output_is_needed(kind, rng):
    text = _text(kind, _inputs(rng)).replace("num_output: 3", "")
    with pytest.raises(LayerError, match="num_output must be positive"):
        run_net(text, _inputs(rng))


def test_blobs_are_filled_by_their_fillers(kind, rng):
    param = 'weight_filler { type: "xavier" } bias_filler { type: "constant" value: 2 }'
    net = run_net(_text(kind, _inputs(rng), param=param), _inputs(rng))
    specs = net.layers[-1].param_specs([(4, 2, 2, 2), (4, 2)])
    fillers = {len(spec.shape): spec.filler.type for spec in specs}
    assert fillers == {1: "constant", 2: "xavier"}
