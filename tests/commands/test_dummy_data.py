"""Commands on nets whose data are not at hand."""

import pytest

from geeps_caffe.cli import main
from tests.commands.small_job import SOLVER

NET = """
name: "no data"
layer { name: "train" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  data_param { source: "train_lmdb" batch_size: 4 backend: LMDB } }
layer { name: "test" type: "Data" top: "data" top: "label" include { phase: TEST }
  data_param { source: "test_lmdb" batch_size: 6 backend: LMDB } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture
def job(job):
    (job / "net.prototxt").write_text(NET)
    (job / "solver.prototxt").write_text(SOLVER)
    return job


def test_a_net_without_its_data_is_trained(job, capfd):
    assert main(["train", "-solver=solver.prototxt", "-record=data=2,5,5"]) == 0
    said = capfd.readouterr().err
    assert "TRAIN net: records of 'train' are made up, as -dummy_data asks" in said
    assert "TEST net: records of 'test' are made up" in said
    assert 'type: "DummyData"' in said
    assert "Top shape: 4 2 5 5 (200)" in said
    assert "Test net output #0: loss" in said
    assert "Iteration 3, loss" in said


def test_workers_make_their_records_up(job, capfd):
    words = "train -solver solver.prototxt -record data=2,5,5,label= -workers 2"
    assert main(words.split()) == 0
    assert "Optimization Done." in capfd.readouterr().err


@pytest.mark.parametrize("words", ["time -iterations 1", "time -phase TEST", "plan"])
def test_models_too(job, capfd, words):
    assert main([*words.split(), "-model=net.prototxt", "-record=data=2,5,5"]) == 0
    assert "no data" in "".join(capfd.readouterr())


@pytest.mark.parametrize("command", ["plan", "simulate"])
def test_a_solver_is_planned_without_its_data(job, capfd, command):
    words = [command, "-solver=solver.prototxt", "-record=data=2,5,5"]
    assert main(words) == 0
    assert "Training net 'no data'" in capfd.readouterr().out


def test_a_model_is_scored(job, capfd):
    assert main(["train", "-solver=solver.prototxt", "-record=data=2,5,5"]) == 0
    words = "test -model net.prototxt -weights small_iter_3.caffemodel -iterations 2"
    assert main([*words.split(), "-record", "data=2,5,5"]) == 0
    assert "Loss: " in capfd.readouterr().err


def test_a_shape_that_is_not_known_is_asked_for(job, capfd):
    assert main(["time", "-model=net.prototxt", "-dummy_data"]) == 3
    said = capfd.readouterr().err
    assert "layer 'train' (Data) at net.prototxt:3: the shape of 'data' is not" in said
    assert "-record data=3,227,227" in said


def test_without_the_flag_data_are_wanted(job, capfd):
    assert main(["time", "-model=net.prototxt"]) == 3
    assert "train_lmdb" in capfd.readouterr().err


@pytest.mark.parametrize("source", ["-model=net.prototxt", "-solver=solver.prototxt"])
@pytest.mark.parametrize("command", ["plan", "simulate"])
def test_a_shape_for_what_is_no_data_is_refused(job, capfd, command, source):
    for blob, advice in (("lable=", "did you mean 'label'"), ("ip=3", "known")):
        assert main([command, source, f"-record=data=2,5,5,{blob}"]) == 2
        said = capfd.readouterr().err
        name = blob.partition("=")[0]
        assert f"-record {name}=...: unknown top of a data layer '{name}'" in said
        assert advice in said


def test_a_shape_may_be_for_the_test_net_alone(job, capfd):
    text = NET.replace('top: "data" top: "label" include { phase: TEST }', "TESTS")
    tests = 'top: "data" top: "label" top: "more" include { phase: TEST }'
    (job / "net.prototxt").write_text(text.replace("TESTS", tests))
    words = ["-solver=solver.prototxt", "-record=data=2,5,5,more=7"]
    assert main(["plan", *words]) == 0
