"""Channels last: the layout in which oneDNN has code for windows of most sizes."""

from dataclasses import dataclass

import pytest

from geeps_caffe.engines.engine import Layout
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.operations import LRN
from tests.engines.battery import Case, Trial, assert_close, expected, gradients
from tests.engines.battery import random_arrays as arrays_of


@dataclass
class ChannelsLast(Trial):
    """Bottoms lie so."""

    def lie(self, shape):
        layouts, shape = self.engine.kit.layouts, tuple(shape)
        return layouts.name(layouts.own(Layout("acdb", 0), shape), view(shape))


@pytest.mark.parametrize("size", [1, 3, 5, 7, 11])
@pytest.mark.parametrize("channels", [3, 16, 20, 33])
def test_windows_of_any_size_are_summed(engine, channels, size, rng):
    shape = (2, channels, 3, 2)
    operation = LRN(size, 0.5, 0.75, 1.0)
    case = Case("lrn", operation, {"bottom0": shape, "top0": shape})
    arrays, wanted = arrays_of(case, rng), gradients(case)
    right = expected(case, arrays, wanted)
    trial = ChannelsLast(engine, case)
    assert trial.forward(arrays)
    trial.backward(arrays, wanted)
    for port in ("top0", "bottom0.diff"):
        assert_close(trial.results[port], right[port], port)
