from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.commands.planning import plan_of, solver_nets
from geeps_caffe.commands.simulate import main
from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import BudgetError, UsageError
from prototxt import read_solver
from tests.end_to_end.digits import make_lenet

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


def total(text, what):
    """The bytes in a line of the report."""
    line = next(line for line in text.splitlines() if line.startswith(what))
    return int(line[len(what) :].split()[0].replace(",", ""))


def test_a_gpu_runs_what_its_engine_plans_and_pictures_wait_there(
    tmp_path, monkeypatch, capsys
):
    """64 records of 28 x 28 bytes, six numbers of eight bytes and a label each."""
    make_lenet(tmp_path, np.random.default_rng(1))
    monkeypatch.chdir(tmp_path)
    told = {}
    for flags in (["-costs=h200"], ["-costs=h200", "-engine=onednn"], ["-costs=cpu"]):
        main(["-solver=solver.prototxt", *flags])
        text = capsys.readouterr().out
        told[flags[-1]] = (
            total(text, "memory without swaps"),
            total(text, "least memory"),
        )
    assert told["-costs=cpu"] == told["-engine=onednn"]
    solver, gpu = read_solver("solver.prototxt").message, RunSettings(engine="cuda")
    _, net = next(solver_nets(solver, "solver.prototxt", gpu))
    plan, waiting = plan_of(net, gpu), 64 * (28 * 28 + 52)
    sizes = plan.arena_bytes + waiting, plan.least_bytes + waiting
    assert told["-costs=h200"] == sizes


def test_too_small_a_memory_is_refused_with_the_least(tmp_path, monkeypatch, capsys):
    make_lenet(tmp_path, np.random.default_rng(1))
    monkeypatch.chdir(tmp_path)
    told = r"a budget of 1,000 bytes.*\(53,504 of them for pictures"
    with pytest.raises(BudgetError, match=told) as error:
        main(["-solver=solver.prototxt", "-memory=1kB"])
    least = error.value.least
    assert main(["-solver=solver.prototxt", f"-memory={least}B"]) == 0
    assert total(capsys.readouterr().out, "least memory") == least


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
