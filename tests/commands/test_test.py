import pytest

from geeps_caffe.commands import test as command
from geeps_caffe.commands.time import main as time
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


@pytest.mark.parametrize("tool", [command.main, time])
def test_an_upgrade_of_the_net_is_told_in_caffes_words(job, capsys, tool):
    train(["-solver=solver.prototxt"])
    old = 'input: "data" input_dim: 2 input_dim: 1 input_dim: 1 input_dim: 3\n'
    (job / "net.prototxt").write_text(
        old + 'layers { name: "ip" type: INNER_PRODUCT bottom: "data" top: "ip" '
        "inner_product_param { num_output: 2 } }"
    )
    capsys.readouterr()
    tool(["-model=net.prototxt", "-weights=small_iter_3.caffemodel", "-iterations=1"])
    log = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    v1, fields = "deprecated V1LayerParameter", "deprecated input fields"
    assert log[1:6] == [
        f"Attempting to upgrade input file specified using {v1}: net.prototxt",
        f"Successfully upgraded file specified using {v1}",
        f"Attempting to upgrade input file specified using {fields}: net.prototxt",
        f"Successfully upgraded file specified using {fields}.",
        "Note that future Caffe releases will only support input layers and not input "
        "fields.",
    ]


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
