from pathlib import Path

import pytest

from geeps_caffe.commands.simulate import main
from geeps_caffe.errors import UsageError

BILINEAR = """
layer { name: "in" type: "Input" top: "x"
  input_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } } }
layer { name: "up" type: "Deconvolution" bottom: "x" top: "y"
  convolution_param { num_output: 2 kernel_size: 4 stride: 2 pad: 1
    weight_filler { type: "bilinear" } } }
"""


def rows(text):
    """The table's rows: memory, share, milliseconds, speed and bytes moved."""
    lines = text.split("a step")[1].split("\n\n")[0].splitlines()[1:]
    return [line.split() for line in lines]


def test_a_solvers_step_is_told_at_several_memories(job, capsys):
    assert main(["-solver=solver.prototxt", "-costs=k20c"]) == 0
    text = capsys.readouterr().out
    assert "Training net 'small' of solver.prototxt" in text
    assert "Tesla K20c" in text
    table = rows(text)
    assert table[0][1] == "100%"
    assert table[0][3] == "100.0%"
    assert "0 B" in text
    memory = [int(row[0].replace(",", "")) for row in table]
    assert memory == sorted(memory, reverse=True)


def test_stalls_are_told_for_a_memory_that_is_asked_for(job, capsys):
    main(["-model=net.prototxt", "-param_cache=swapped", "-memory=100%"])
    text = capsys.readouterr().out
    assert "copy-in" in text
    assert "stalled" in text


def test_a_test_net_has_no_backward(job, capsys):
    main(["-model=net.prototxt", "-phase=TEST"])
    assert "TEST net 'small'" in capsys.readouterr().out


@pytest.mark.parametrize("flags", [[], ["-solver=a", "-model=b"]])
def test_one_file_is_simulated(job, flags):
    with pytest.raises(UsageError, match="either -solver FILE or -model FILE"):
        main(flags)


def test_an_unknown_device_is_refused(job):
    with pytest.raises(UsageError, match="device 'k30c'"):
        main(["-model=net.prototxt", "-costs=k30c"])


def test_it_says_what_a_net_may_not_mean(job, caplog):
    Path("net.prototxt").write_text(BILINEAR)
    main(["-model=net.prototxt"])
    assert "each output is a sum of 2 interpolated channels" in caplog.text
