"""A small residual net with all that passes rewrite, trained with them and without."""

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.table import open_engine
from geeps_caffe.execution.reports import BlobMean
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.schedule.passes import NAMES


def convolution(name, bottom, outputs):
    return f"""
      layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}"
        convolution_param {{ num_output: {outputs} kernel_size: 3 pad: 1
          weight_filler {{ type: "msra" }} }} }}"""


def normalized(name, bottom, outputs, relu=True, stored=False):
    text = (
        convolution(name, bottom, outputs)
        + f"""
      layer {{ name: "{name}_bn" type: "BatchNorm" bottom: "{name}" top: "{name}"
        batch_norm_param {{ use_global_stats: {str(stored).lower()} eps: 0.1 }} }}
      layer {{ name: "{name}_scale" type: "Scale" bottom: "{name}" top: "{name}"
        scale_param {{ bias_term: true }} }}"""
    )
    return text + in_place("ReLU", name) * relu


def in_place(kind, blob):
    name = f"{blob}_{kind}"
    return f'layer {{ name: "{name}" type: "{kind}" bottom: "{blob}" top: "{blob}" }}'


NET = f"""
  layer {{ name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {{
    shape {{ dim: 4 dim: 3 dim: 9 dim: 9 }} shape {{ dim: 4 }}
    data_filler {{ type: "gaussian" std: 1 }}
    data_filler {{ type: "constant" value: 3 }}
  }} }}
  {convolution("a", "data", 20)} {in_place("ReLU", "a")}
  {normalized("b", "a", 20)} {normalized("c", "b", 20, relu=False)}
  layer {{ name: "sum" type: "Eltwise" bottom: "a" bottom: "c" top: "sum" }}
  {in_place("ReLU", "sum")}
  {normalized("d", "sum", 5, stored=True)}
  layer {{ name: "both" type: "Concat" bottom: "d" bottom: "sum" top: "both" }}
  layer {{ name: "lrn" type: "LRN" bottom: "both" top: "lrn"
    lrn_param {{ local_size: 3 norm_region: WITHIN_CHANNEL }} }}
  layer {{ name: "ip" type: "InnerProduct" bottom: "lrn" top: "ip"
    inner_product_param {{ num_output: 16 weight_filler {{ type: "xavier" }} }} }}
  {in_place("TanH", "ip")}
  layer {{ name: "score" type: "InnerProduct" bottom: "ip" top: "score"
    inner_product_param {{ num_output: 5 weight_filler {{ type: "xavier" }} }} }}
  layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label"
    top: "loss" }}
"""
SOLVER = """base_lr: 0.05 momentum: 0.9 weight_decay: 0.01 lr_policy: "fixed"
  test_iter: 1 test_interval: 2 max_iter: 3 snapshot_after_train: false %s
  net_param { name: "small" %s }"""


def ignore(report):
    del report


def trained(engine, without, more="", report=ignore):
    """The test net's outputs and all params after three iterations."""
    solver = prototxt.parse_solver(SOLVER % (more, NET)).message
    settings = RunSettings(engine=engine, threads=2, seed=4, without=without)
    trainer = Trainer(solver, "", settings, report)
    trainer.solve()
    net = trainer.net
    params = {key: np.array(net.param(key)) for key in net.graph.params}
    tested = [t.net.outputs()[0][2].copy() for t in trainer.tests]
    trainer.close()
    return params | {f"test{i}": found for i, found in enumerate(tested)}


@pytest.fixture(scope="module", params=["reference", "onednn"])
def engine(request):
    try:
        open_engine(request.param, 2)
    except OneDnnMissing as missing:
        pytest.skip(str(missing))
    return request.param


@pytest.fixture(scope="module")
def apart(engine):
    """Without any pass."""
    return trained(engine, NAMES)


@pytest.mark.parametrize("without", [(), *((name,) for name in NAMES)])
def test_passes_change_results_by_rounding_alone(engine, apart, without):
    found = trained(engine, without)
    assert found.keys() == apart.keys()
    for name, values in found.items():
        np.testing.assert_allclose(values, apart[name], 1e-3, 1e-5, err_msg=name)


def test_iter_size_adds_up_the_gradients_of_merged_layers(engine):
    more = "iter_size: 2"
    apart, found = trained(engine, NAMES, more), trained(engine, (), more)
    assert found.keys() == apart.keys()
    for name, values in found.items():
        np.testing.assert_allclose(values, apart[name], 1e-3, 1e-5, err_msg=name)


TOLD = """data data a a_ReLU b b_bn b_scale b_ReLU c c_bn c_scale sum sum_ReLU
  d d_bn d_scale d_ReLU both lrn ip ip_TanH score"""


def told(engine, without):
    """What debug_info says of blobs: the places in their order, the mean at each."""
    reports = []
    trained(engine, without, "debug_info: true display: 1", reports.append)
    means = [r for r in reports if isinstance(r, BlobMean)]
    places = [(r.direction, r.layer, r.role, r.blob, r.what) for r in means]
    return places, [r.value for r in means]


def test_debug_info_is_about_every_blob_still(engine):
    """Each layer has its line, those that others do among them."""
    places, values = told(engine, ())
    whole, wanted = told(engine, NAMES)
    assert places == whole
    np.testing.assert_allclose(values, wanted, 1e-3, 1e-5)
    end = places.index(("Forward", "loss", "top", "loss", "data"))
    first = zip(places[:end], values, strict=False)
    tops = [(place[1], value) for place, value in first if place[2] == "top"]
    assert all(value > 0 for _, value in tops)
    assert [name for name, _ in tops if "split" not in name] == TOLD.split()


FEW = """
  layer { name: "in" type: "DummyData" top: "data" top: "all" dummy_data_param {
    shape { dim: 4 dim: 3 dim: 2 dim: 2 } shape { dim: 4 }
    data_filler { value: 2 } data_filler { value: 1 } } }
  layer { name: "few" type: "Filter" bottom: "data" bottom: "all" top: "few" }
  layer { name: "bn" type: "BatchNorm" bottom: "few" top: "bn" batch_norm_param {
    use_global_stats: true eps: 1 } }
  layer { name: "scale" type: "Scale" bottom: "bn" top: "bn" scale_param {
    filler { value: -3 } bias_term: true bias_filler { value: %d } } }
  layer { name: "relu" type: "ReLU" bottom: "bn" top: "bn" }
  layer { name: "loss" type: "Reduction" bottom: "bn" top: "loss" loss_weight: 1
    reduction_param { operation: MEAN } }
"""


@pytest.mark.parametrize(("bias", "expected"), [(10, 4), (1, 0)])
def test_scale_and_relu_are_done_behind_a_filter_too(engine, bias, expected):
    """No statistics are stored yet: (2 - 0) / sqrt(0 + 1) * -3 + bias, at least 0."""
    text = "base_lr: 0 lr_policy: 'fixed' test_iter: 1 test_interval: 1 net_param {"
    text += FEW % bias + "}"
    trainer = Trainer(prototxt.parse_solver(text).message, "", RunSettings(engine))
    trainer.step(1)
    assert trainer.net.loss() == pytest.approx(expected)
    assert trainer.tests[0].run(lambda: False, True).loss == pytest.approx(expected)
    trainer.close()
