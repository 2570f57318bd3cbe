"""Layers that are merged into one have no code of their own: any layout will do."""

from dataclasses import dataclass

import pytest

from geeps_caffe.engines.engine import Layout
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.operations import ScaledBatchNorm
from tests.engines.battery import Trial, assert_close, expected, gradients
from tests.engines.battery import random_arrays as arrays_of
from tests.engines.cases import CASES

MERGED = [case for case in CASES if isinstance(case.operation, ScaledBatchNorm)]
LETTERS = {2: "ba", 3: "aBc4b", 4: "aBcd4b", 5: "aBcde4b"}


@dataclass
class InFours(Trial):
    """Bottoms lie in blocks of 4 channels, as those of groups of 12 do."""

    def lie(self, shape):
        layouts, shape = self.engine.kit.layouts, tuple(shape)
        md = layouts.own(Layout(LETTERS[len(shape)], 0), shape)
        return layouts.name(md, view(shape))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("case", MERGED, ids=lambda case: case.name)
def test_channels_in_blocks_of_four_are_normalized(engine, case, training, rng):
    arrays, wanted = arrays_of(case, rng), gradients(case)
    trial = InFours(engine, case, training=training)
    right = expected(case, arrays, wanted if training else [])
    assert trial.forward(arrays)
    assert_close(trial.results["top0"], right["top0"])
    if training:
        trial.backward(arrays, wanted)
        for port in wanted:
            assert_close(trial.results[port], right[port], port)
