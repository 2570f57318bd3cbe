import pytest

from tests.schedule.passes.texts import CONVOLUTION, INPUT, LOSS, lines, relu

NORM = 'layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }'
SCALE = """layer { name: "scale" type: "Scale" bottom: "conv" top: "conv"
  scale_param { bias_term: true } }"""
START = INPUT + CONVOLUTION + NORM


def passes(text, **options):
    found = lines(text, "norms", **options)
    return [line for line in found if line.split()[0] in ("forward", "backward")]


@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
def test_scale_and_relu_join_the_norm_before_them(phase):
    text = START + SCALE + relu("relu", "conv") + LOSS
    assert passes(text, phase=phase) == [
        "forward conv",
        "forward bn",
        "forward ip",
        "forward loss",
        "backward loss",
        "backward ip",
        "backward bn",
        "backward conv",
    ]


def test_a_scale_joins_without_a_relu():
    found = passes(START + SCALE + LOSS)
    assert "forward bn" in found and "forward scale" not in found


def test_a_relu_with_a_slope_stays_behind():
    slope = relu("relu", "conv")[:-1] + " relu_param { negative_slope: 0.1 } }"
    found = passes(START + SCALE + slope + LOSS)
    assert "forward scale" not in found and "forward relu" in found


@pytest.mark.parametrize(
    "scale",
    [
        SCALE.replace("bias_term: true", "axis: 2"),
        SCALE.replace("bias_term: true", "num_axes: 2"),
        SCALE.replace('"conv" top', '"conv" bottom: "label" top').replace(
            "bias_term: true", "axis: 0"
        ),
        SCALE[:-1] + " propagate_down: true }",
    ],
)
def test_other_scales_stay_behind(scale):
    found = passes(START + scale + LOSS)
    assert "forward scale" in found


def test_not_where_shapes_are_known_only_at_run_time():
    few = 'layer { name: "few" type: "Filter" bottom: "data" bottom: "label" top: "f" }'
    text = INPUT + few + CONVOLUTION.replace('bottom: "data"', 'bottom: "f"') + NORM
    text += SCALE + relu("relu", "conv")
    text += 'layer { name: "loss" type: "Reduction" bottom: "conv" top: "loss" }'
    for phase in ("TRAIN", "TEST"):
        assert {"forward scale", "forward relu"} <= set(passes(text, phase=phase))


def test_not_where_others_read_what_is_between():
    norm = NORM.replace('top: "conv"', 'top: "n"')
    scale = SCALE.replace('bottom: "conv"', 'bottom: "n"')
    text = INPUT + CONVOLUTION.replace('top: "conv"', 'top: "c"')
    text += norm.replace('bottom: "conv"', 'bottom: "c"') + scale + LOSS
    assert "forward scale" not in passes(text)
    assert "forward scale" in passes(text, keep=frozenset({"n", "loss"}))
    assert "forward scale" in passes(text, keep_all=True)
    text += 'layer { name: "also" type: "Silence" bottom: "n" }'
    assert "forward scale" in passes(text)
