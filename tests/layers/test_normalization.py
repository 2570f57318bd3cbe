import pytest

from geeps_caffe.layers.normalization import BATCH_SIZE, normalization_of
from prototxt import parse_net


def _measure(param, items=12, valid=7, batch=3, **default):
    text = f'layer {{ name: "l" type: "T" loss_param {{ {param} }} }}'
    (spec,) = parse_net(text, "net").message.layer
    return normalization_of(spec.loss_param, **default).measure(items, valid, batch)


@pytest.mark.parametrize(
    ("param", "divisor"),
    [
        ("", 7),
        ("normalization: FULL", 12),
        ("normalization: VALID", 7),
        ("normalization: BATCH_SIZE", 3),
        ("normalization: NONE", 1),
        ("normalize: true", 7),
        ("normalize: false", 3),
        ("normalize: false normalization: FULL", 12),
        ("normalization: PRE_FIXED pre_fixed_normalizer: 2.5", 2.5),
    ],
)
def test_the_divisor_is_what_loss_param_asks_for(param, divisor):
    assert _measure(param) == divisor


def test_each_loss_has_its_default():
    assert _measure("", default=BATCH_SIZE) == 3


def test_a_batch_in_which_nothing_counts_measures_0():
    assert _measure("", valid=0) == 0
