"""Large inner products, trained with their weights updated by rows and as a whole."""

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.table import open_engine
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.instructions import UpdateRows


def layer(name, bottom, outputs, more=""):
    return f"""
      layer {{ name: "{name}" type: "InnerProduct" bottom: "{bottom}" top: "{name}"
        param {{ decay_mult: 2 }} param {{ lr_mult: 2 decay_mult: 0 }}
        inner_product_param {{ num_output: {outputs} {more}
          weight_filler {{ type: "xavier" }} }} }}"""


NET = f"""
  layer {{ name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {{
    shape {{ dim: 3 dim: 16 dim: 8 dim: 8 }} shape {{ dim: 3 }}
    data_filler {{ type: "gaussian" std: 1 }}
    data_filler {{ type: "constant" value: 3 }} }} }}
  {layer("first", "data", 2100)}
  layer {{ name: "relu" type: "ReLU" bottom: "first" top: "first" }}
  {
    layer("second", "first", 1024, "bias_term: false").replace(
        "param { lr_mult: 2 decay_mult: 0 }", ""
    )
}
  {layer("score", "second", 5)}
  layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label"
    top: "loss" }}"""
SOLVER = """base_lr: 0.01 momentum: 0.9 weight_decay: 0.01 lr_policy: "fixed"
  max_iter: 3 snapshot_after_train: false %s net_param { name: "large" %s }"""


def trained(engine, more="", **settings):
    """Params and history after three iterations, and how many updates had parts."""
    solver = prototxt.parse_solver(SOLVER % (more, NET)).message
    settings = RunSettings(engine=engine, threads=2, seed=4, **settings)
    trainer = Trainer(solver, "", settings)
    trainer.solve()
    training, net = trainer.training, trainer.net
    plan = net.executor.plan
    assert not check_plan(plan)
    found = {key: np.array(net.param(key)) for key in net.graph.params}
    for table in training.tables.keys:
        found[f"history of {table}"] = np.array(training.client.history(table))
    trainer.close()
    return found, sum(isinstance(entry, UpdateRows) for entry in plan.instructions)


@pytest.fixture(scope="module", params=["reference", "onednn"])
def engine(request):
    try:
        open_engine(request.param, 2)
    except OneDnnMissing as missing:
        pytest.skip(str(missing))
    return request.param


def same(one, other):
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], 1e-6, 1e-8, err_msg=name)


@pytest.fixture(scope="module")
def whole(engine):
    found, parts = trained(engine, without=("rows",))
    assert parts == 0
    return found


def test_results_are_those_of_whole_updates(engine, whole):
    found, parts = trained(engine)
    assert parts == 2
    same(found, whole)


def test_so_they_are_under_a_budget(engine, whole):
    found, parts = trained(engine, memory=6_000_000, poison=True)
    assert parts == 2
    same(found, whole)


@pytest.mark.parametrize("kind", ["Nesterov", "Adam"])
def test_other_rules_take_parts_too(engine, kind):
    more = f'type: "{kind}"' + " momentum2: 0.9 " * (kind == "Adam")
    found, parts = trained(engine, more)
    assert parts == 2
    same(found, trained(engine, more, without=("rows",))[0])


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        ("iter_size: 2", {}),
        ("clip_gradients: 1", {}),
        ("debug_info: true", {}),
        ("", {"keep_all": True}),
        ("", {"update": "worker"}),
    ],
)
def test_gradients_that_are_needed_as_a_whole_are_made_so(more, settings):
    assert trained("reference", more, **settings)[1] == 0
