"""A Filter may leave no item: what follows has nothing to compute or to learn."""

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.trainer import Trainer
from tests.cuda_double.fixtures import double

__all__ = ["double"]

NET = """
layer {{ name: "in" type: "DummyData" top: "data" top: "none" dummy_data_param {{
  shape {{ dim: 4 dim: 3 dim: 6 dim: 6 }} shape {{ dim: 4 }}
  data_filler {{ type: "gaussian" }} data_filler {{ type: "constant" value: 0 }} }} }}
layer {{ name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param
  {{ num_output: 4 kernel_size: 3 pad: 1 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "few" type: "Filter" bottom: "conv" bottom: "none" top: "few" }}
layer {{ name: "layer" bottom: "few" top: "layer" {} }}
layer {{ name: "loss" type: "Reduction" bottom: "layer" top: "loss" loss_weight: 1
  reduction_param {{ operation: SUMSQ }} }}
"""
LAYERS = [
    'type: "InnerProduct" inner_product_param { num_output: 4 }',
    'type: "Convolution" convolution_param { num_output: 4 kernel_size: 3 }',
    'type: "Deconvolution" convolution_param { num_output: 4 kernel_size: 3 }',
    'type: "Dropout"',
    'type: "Scale" scale_param { bias_term: true }',
    'type: "BatchNorm"',
    'type: "LRN" lrn_param { norm_region: WITHIN_CHANNEL }',
    'type: "MVN"',
    'type: "PReLU"',
    'type: "Softmax"',
    'type: "Pooling" pooling_param { kernel_size: 2 }',
    'type: "Pooling" pooling_param { kernel_size: 2 pool: AVE }',
    'type: "Pooling" pooling_param { kernel_size: 2 pool: STOCHASTIC }',
    'type: "Reduction" reduction_param { axis: 1 }',
    'type: "SPP" spp_param { pyramid_height: 2 }',
]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("engine", ["reference", "onednn", "cuda"])
@pytest.mark.parametrize("layer", LAYERS)
def test_nothing_is_learned_of_nothing(layer, engine):
    text = f"net_param {{ {NET.format(layer)} }} base_lr: 1 lr_policy: 'fixed'"
    solver = prototxt.parse_solver(text, "solver.prototxt").message
    trainer = Trainer(solver, settings=RunSettings(engine=engine, seed=1, threads=1))
    net = trainer.net
    before = {key: np.array(net.param(key)) for key in net.graph.params}
    trainer.step(2)
    assert net.loss() == 0
    for key, values in before.items():
        np.testing.assert_array_equal(net.param(key), values, key)
    trainer.close()
