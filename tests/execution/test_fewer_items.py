"""Behind a Filter a bottom may have fewer items than another: that is refused."""

import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import LayerError
from tests.execution.made_up_jobs import parsed_net, solve

#: Two of four items are kept. Without axes of its own, an item is one number.
NET = """
layer { name: "in" type: "DummyData" top: "x" top: "y" top: "some" dummy_data_param {
  shape { dim: 4 dim: 1 } shape { dim: 4 dim: 1 } shape { dim: 4 }
  data_filler { type: "constant" value: 1 } data_filler { type: "constant" value: 1 }
  data_filler { type: "uniform" min: 0.6 max: 0.9 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
layer { name: "cut" type: "Slice" bottom: "some" top: "a" top: "b"
  slice_param { axis: 0 } }
layer { name: "none" type: "Power" bottom: "b" top: "none" power_param { scale: 0 } }
layer { name: "half" type: "Concat" bottom: "a" bottom: "none" top: "half"
  concat_param { axis: 0 } }
layer { name: "few" type: "Filter" bottom: "ip" bottom: "half" top: "few" }
"""
LOSS = """layer { name: "sum" type: "Reduction" bottom: "z" top: "sum"
  loss_weight: 1 }"""
LAYERS = {
    "EuclideanLoss": 'bottom: "few" bottom: "y" top: "z"',
    "SigmoidCrossEntropyLoss": 'bottom: "few" bottom: "y" top: "z"',
    "ContrastiveLoss": 'bottom: "few" bottom: "few" bottom: "some" top: "z"',
    "Filter": 'bottom: "few" bottom: "some" top: "z"',
    "RNN": 'bottom: "few" bottom: "y" top: "z" recurrent_param { num_output: 1 }',
}


@pytest.mark.parametrize("engine", ["reference", "onednn"])
@pytest.mark.parametrize("kind", LAYERS)
def test_items_that_do_not_match_are_refused_with_both_shapes(kind, engine):
    text = NET + f'layer {{ name: "l" type: "{kind}" {LAYERS[kind]} }}'
    text += LOSS * ("Loss" not in kind)
    with pytest.raises(LayerError, match=r"layer 'l'.*\(2, 1\).*\(4,"):
        solve(parsed_net(text), RunSettings(engine=engine, seed=1), 1)
