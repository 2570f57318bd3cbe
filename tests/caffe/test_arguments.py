import pytest

from geeps_caffe.caffe.arguments import NetArguments, read_arguments
from geeps_caffe.errors import UsageError
from geeps_caffe.graph.filter import NetState

WHOLE = NetArguments(1, 2, ["a"], "w")


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((1, 2, ["a"], "w"), {}),
        ((1, 2), {"stages": ["a"], "weights": "w"}),
        ((), {"phase": 1, "level": 2, "stages": ["a"], "weights": "w"}),
        (("w", 1), {"level": 2, "stages": ["a"]}),
    ],
)
def test_arguments_come_by_place_or_by_name(args, named):
    assert read_arguments(args, named) == WHOLE


def test_they_make_the_nets_state():
    assert WHOLE.state == NetState("TEST", 2, ("a",))
    assert NetArguments(0).state == NetState("TRAIN", 0, ())


def test_weights_may_be_several_files():
    assert NetArguments(1, weights="a,b").weight_files == ["a", "b"]
    assert NetArguments(1).weight_files == []


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((1, 0, [], "w", 5), {}, "5 arguments after the file; expected phase, level"),
        (("w", 1, 2), {}, "3 arguments after the file; expected weights, phase"),
        ((1,), {"phase": 0}, "phase given by place and by name"),
    ],
)
def test_others_are_refused(args, named, message):
    with pytest.raises(UsageError, match=message):
        read_arguments(args, named)


@pytest.mark.parametrize("phase", [None, 2, -1, "TEST"])
def test_a_phase_is_needed(phase):
    with pytest.raises(UsageError, match="expected TRAIN or TEST"):
        assert NetArguments(phase).state
