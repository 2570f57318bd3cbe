"""Copies of params and gradients come from and go to pinned memory."""

import logging

import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.execution import reports
from geeps_caffe.execution.trainer import Trainer
from tests.cuda_double.fixtures import double
from tests.execution.made_up_jobs import solve
from tests.execution.test_planners import lenet
from tests.execution.test_workers import place, ten_steps
from tests.execution.workers import train

__all__ = ["double", "place"]

SETTINGS = RunSettings(engine="cuda", seed=1, param_cache=ParamCache())


def test_a_worker_of_its_own_tables_copies_pinned_memory_alone(double):
    solve(lenet(), SETTINGS, 2)
    assert double.machine.pageable == []


NOT_LEARNED = """
layer { name: "in" type: "DummyData" top: "data" dummy_data_param {
  shape { dim: 2 dim: 3 } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 2 } } }
layer { name: "more" type: "InnerProduct" bottom: "ip" top: "more"
  inner_product_param { num_output: 1 weight_filler { type: "constant" value: 1 } }
  include { phase: TEST } }
layer { name: "silence" type: "Silence" bottom: "ip" include { phase: TRAIN } }
"""


@pytest.mark.usefixtures("double")
def test_params_of_no_table_have_a_cache_too():
    """Those that nobody learns, and those that only a test net has."""
    text = f"net_param {{ {NOT_LEARNED} }} base_lr: 0.1 lr_policy: 'fixed' "
    text += "test_iter: 1 test_interval: 1"
    document = prototxt.parse_solver(text, "solver.prototxt")
    told = []
    trainer = Trainer(document.message, settings=SETTINGS, report=told.append)
    trainer.test_all()
    trainer.close()
    (tested,) = (r for r in told if isinstance(r, reports.Tested))
    assert [o.value for o in tested.outputs] == [6 + 6, 6 + 6]  # of both records


@pytest.mark.usefixtures("place")
def test_so_does_one_of_several_workers(double):
    """The other one computes on the CPU; both share a block."""

    def settings(rank, ranks):
        engine = ("cuda", "onednn")[rank]
        return RunSettings(engine=engine, seed=1, threads=1, rank=rank, ranks=ranks)

    train("SGD__mom09_wdL2/solver.prototxt", settings, 2, ten_steps("SGD__mom09_wdL2"))
    assert double.machine.pageable == []


def test_memory_that_can_not_be_pinned_is_copied_all_the_same(
    double, caplog, monkeypatch
):
    wanted, _ = solve(lenet(), SETTINGS, 2)
    monkeypatch.setattr(CudaDevice, "pin", lambda device, block: False)
    with caplog.at_level(logging.WARNING):
        found, _ = solve(lenet(), SETTINGS, 2)
    assert double.machine.pageable
    assert "the tables' memory can't be pinned" in caplog.text
    assert all((found[key] == wanted[key]).all() for key in wanted)
