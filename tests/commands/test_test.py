import pytest

from geeps_caffe.commands import test as command
from geeps_caffe.commands.train import main as train
from geeps_caffe.errors import LayerError, UsageError
from prototxt import PrototxtError


def test_it_scores_and_means(job, capsys):
    train(["-solver=solver.prototxt"])
    capsys.readouterr()
    flags = ["-model=net.prototxt", "-weights=small_iter_3.caffemodel"]
    assert command.main([*flags, "-iterations=2"]) == 0
    log = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    start = log.index("Running for 2 iterations.")
    names = [line.partition(" = ")[0] for line in log[start + 1 :]]
    assert names == [
        "Batch 0, accuracy",
        "Batch 0, loss",
        "Batch 1, accuracy",
        "Batch 1, loss",
        log[-3],
        "accuracy",
        "loss",
    ]
    assert log[-3].startswith("Loss: ")


def test_a_layer_without_weights_is_warned_of(job, capsys):
    train(["-solver=solver.prototxt"])
    net = job / "net.prototxt"
    net.write_text(net.read_text().replace('name: "ip"', 'name: "renamed"'))
    capsys.readouterr()
    command.main(["-model=net.prototxt", "-weights=small_iter_3.caffemodel"])
    warning = "layer 'renamed' (InnerProduct) has no weights in small_iter_3.caffemodel"
    assert capsys.readouterr().err.count(warning) == 1


def test_swapped_files_are_told_apart(job):
    train(["-solver=solver.prototxt"])
    with pytest.raises(PrototxtError, match="swapped"):
        command.main(["-model=small_iter_3.caffemodel", "-weights=net.prototxt"])


def test_an_output_of_another_size_in_each_batch_is_refused(job):
    """How many of a batch's numbers a Threshold lets a Filter keep."""
    train(["-solver=solver.prototxt"])
    net = job / "net.prototxt"
    few = """
      layer { name: "n" type: "DummyData" top: "n" dummy_data_param {
        shape { dim: 99 } data_filler { type: "gaussian" } } }
      layer { name: "some" type: "Threshold" bottom: "n" top: "some" }
      layer { name: "few" type: "Filter" bottom: "n" bottom: "some" top: "few" }"""
    net.write_text(net.read_text() + few)
    flags = ["-model=net.prototxt", "-weights=small_iter_3.caffemodel"]
    with pytest.raises(LayerError, match=r"'few' had \d+ numbers in a batch, \d+"):
        command.main([*flags, "-iterations=9"])


@pytest.mark.parametrize("iterations", [0, -1])
def test_a_score_of_no_batches_is_refused(job, iterations):
    train(["-solver=solver.prototxt"])
    flags = ["-model=net.prototxt", "-weights=small_iter_3.caffemodel"]
    with pytest.raises(UsageError, match=f"-iterations is {iterations}; give 1 up"):
        command.main([*flags, f"-iterations={iterations}"])
