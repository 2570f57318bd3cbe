import re
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.commands.plan import main
from geeps_caffe.commands.train import main as train
from geeps_caffe.errors import BudgetError, PlanError, UsageError
from tests.end_to_end.digits import make_lenet

BILINEAR = """
layer { name: "in" type: "Input" top: "x"
  input_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } } }
layer { name: "up" type: "Deconvolution" bottom: "x" top: "y"
  convolution_param { num_output: 2 kernel_size: 4 stride: 2 pad: 1
    weight_filler { type: "bilinear" } } }
"""


def number(text, what):
    """The first figure that a printed plan gives for something."""
    line = next(line for line in text.splitlines() if line.startswith(what))
    return int(line[len(what) :].split()[0].replace(",", ""))


def test_a_solver_has_a_plan_for_each_of_its_nets(job, capsys):
    assert main(["-solver=solver.prototxt"]) == 0
    shown = capsys.readouterr().out
    assert "Training net 'small' of solver.prototxt" in shown
    assert "Test net #0 of solver.prototxt" in shown
    assert "forward ip" in shown
    assert "backward ip" in shown
    assert "update table ip" in shown
    assert "FAULT" not in shown


@pytest.mark.parametrize(("phase", "backward"), [("TRAIN", True), ("TEST", False)])
def test_a_model_is_planned_for_its_phase(job, capsys, phase, backward):
    assert main(["-model=net.prototxt", f"-phase={phase}"]) == 0
    shown = capsys.readouterr().out
    assert f"{phase} net 'small' of net.prototxt" in shown
    assert ("backward ip" in shown) == backward


def test_a_budget_is_kept(job, capsys):
    main(["-model=net.prototxt"])
    plain = capsys.readouterr().out
    least = number(plain, "least arena")
    main(["-model=net.prototxt", f"-memory={least}B"])
    tight = capsys.readouterr().out
    assert number(tight, "arena") <= least <= number(plain, "arena")


def test_too_small_a_budget_is_refused_with_the_least_one(job):
    with pytest.raises(PlanError, match="Give at least"):
        main(["-model=net.prototxt", "-memory=1B"])


def with_larger_tests(job):
    """Tests of 64 records: their loss has 512 bytes of scores, 512 of probabilities,
    256 of labels and 64 of its own."""
    net = job / "net.prototxt"
    train, rest = net.read_text().split("} }\n", 1)
    train += "} %s }\n"
    test = train.replace("dim: 4", "dim: 64")
    phases = (train % "include { phase: TRAIN }", test % "include { phase: TEST }")
    net.write_text("".join(phases) + rest)


def test_the_least_budget_of_a_solver_is_that_of_its_largest_net(job, capsys):
    with_larger_tests(job)
    flags = ["-solver=solver.prototxt", "-engine=reference"]
    match = r"Give at least 1,344 bytes \(another net of the job needs them\), or make"
    for command in (main, train):
        with pytest.raises(PlanError, match=match):
            command([*flags, "-memory=64B"])
        with pytest.raises(
            PlanError, match=r"'forward loss.* at least 1,344 bytes, or"
        ):
            command([*flags, "-memory=1280B"])
        assert command([*flags, "-memory=1344B"]) == 0
    assert "in one arena of 1,344 bytes" in capsys.readouterr().out


#: Training without this stage has no layer that makes the loss's bottom.
CHOSEN = """type: "InnerProduct" include { phase: TRAIN stage: "large" }
  include { phase: TEST }"""


def test_the_least_budget_is_that_of_the_net_which_the_flags_choose(job):
    net = job / "net.prototxt"
    net.write_text(net.read_text().replace('type: "InnerProduct"', CHOSEN))
    flags = ["-solver=solver.prototxt", "-engine=reference", "-stage=large"]
    with pytest.raises(BudgetError) as error:
        main([*flags, "-memory=64B"])
    assert main([*flags, f"-memory={error.value.least}B"]) == 0


#: What a plan says of the least memory of all nets of a solver, or of one alone.
LEAST = {"solver": r"of ([\d,]+) bytes at least", "model": r"least memory +([\d,]+)"}
FILES = ["-solver=solver.prototxt", "-model=train_val.prototxt"]
GPU = "-engine=cuda"  # needs none for plans


@pytest.mark.parametrize("file", FILES, ids=LEAST)
def test_on_a_gpu_the_least_memory_holds_the_pictures_that_wait(
    tmp_path, monkeypatch, capsys, file
):
    make_lenet(tmp_path, np.random.default_rng(1))
    monkeypatch.chdir(tmp_path)
    assert main([file, GPU]) == 0
    told = re.search(LEAST[file[1:].split("=")[0]], capsys.readouterr().out)[1]
    least = int(told.replace(",", ""))
    assert main([file, GPU, f"-memory={least}B"]) == 0
    for less in (1000, least - 1):
        with pytest.raises(BudgetError, match=f"at least {told} bytes"):
            main([file, GPU, f"-memory={less}B"])


@pytest.mark.parametrize("what", ["-solver=solver.prototxt", "-model=net.prototxt"])
@pytest.mark.parametrize("flag", ["-gpu=0", "-engine=cuda"])
def test_what_a_gpu_would_run_is_planned_without_one(job, capsys, what, flag):
    assert main([what, flag]) == 0
    assert "[cuda]" in capsys.readouterr().out
    main([what])
    assert "[cuda]" not in capsys.readouterr().out


def test_each_gpu_that_is_named_has_a_worker(job, capsys):
    """Two share the host's tables, whose params are copied in."""
    main(["-solver=solver.prototxt", "-gpu=0,1"])
    two = capsys.readouterr().out
    main(["-solver=solver.prototxt", "-gpu=0", "-workers=2"])
    assert capsys.readouterr().out == two
    assert "swap in ip/0" in two


def test_the_largest_batch_on_a_gpu_leaves_room_for_its_pictures(
    tmp_path, monkeypatch, capsys
):
    make_lenet(tmp_path, np.random.default_rng(1), iter_size=2)
    monkeypatch.chdir(tmp_path)
    flags = ["-solver=solver.prototxt", GPU, "-memory=16MB"]
    assert main(flags) == 0
    most = number(capsys.readouterr().out, "largest batch")
    assert most > 64
    net = tmp_path / "train_val.prototxt"
    for batch, fits in ((most, True), (most + 1, False)):
        text = net.read_text().replace("batch_size: 64", f"batch_size: {batch}")
        (tmp_path / "other.prototxt").write_text(text)
        solver = (tmp_path / "solver.prototxt").read_text()
        solver = solver.replace("train_val.prototxt", "other.prototxt")
        (tmp_path / "other_solver.prototxt").write_text(solver)
        other = ["-solver=other_solver.prototxt", *flags[1:]]
        if fits:
            assert main(other) == 0
        else:
            with pytest.raises(BudgetError):
                main(other)


@pytest.mark.parametrize("flags", [[], ["-solver=a", "-model=b"]])
def test_one_file_is_planned(job, flags):
    with pytest.raises(UsageError, match="give either -solver FILE or -model FILE"):
        main(flags)


def test_an_unknown_phase_is_refused(job):
    with pytest.raises(UsageError, match="-phase is 'BOTH'"):
        main(["-model=net.prototxt", "-phase=BOTH"])


def test_it_foretells_the_memory_of_the_process(job, capsys):
    main(["-solver=solver.prototxt"])
    shown = capsys.readouterr().out
    parts = ("arenas", "params", "their gradients", "their history", "the program,")
    sizes = [number(shown, part.replace(",", ", about")) for part in parts]
    params, gradients, history = sizes[1:4]
    assert params == gradients == history > 0  # SGD has one array of history
    assert number(shown, "the process, about") == sum(sizes)
    assert 75e6 < sizes[-1] < 120e6


def test_a_model_alone_has_neither_gradients_nor_history(job, capsys):
    main(["-model=net.prototxt", "-phase=TEST"])
    shown = capsys.readouterr().out
    assert "their gradients" not in shown and "their history" not in shown


def test_it_says_what_a_net_may_not_mean(job, caplog):
    Path("net.prototxt").write_text(BILINEAR)
    main(["-model=net.prototxt"])
    assert "each output is a sum of 2 interpolated channels" in caplog.text
