import re

import pytest

from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.train import main, read_solver
from geeps_caffe.errors import InputError, UsageError
from prototxt import PrototxtError
from tests.commands.small_job import write_job


def log_of(capsys):
    return [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]


def test_it_trains_and_leaves_a_snapshot(job, capsys):
    assert main(["-solver=solver.prototxt"]) == 0
    log = log_of(capsys)
    assert log[0] == "Use CPU."
    assert log[-2:] == ["Optimization Done.", "Optimization Done."]
    assert (job / "small_iter_3.caffemodel").exists()
    assert (job / "small_iter_3.solverstate").exists()


def test_an_upgrade_of_the_solver_is_told_first_in_caffes_words(job, capsys):
    write_job(job, solver_type="NESTEROV")
    assert main(["-solver=solver.prototxt"]) == 0
    what = "deprecated 'solver_type' field (enum)"
    assert log_of(capsys)[:4] == [
        f"Attempting to upgrade input file specified using {what}': solver.prototxt",
        f"Successfully upgraded file specified using {what} to 'type' field (string).",
        "Note that future Caffe releases will only support 'type' field (string) for a "
        "solver's type.",
        "Use CPU.",
    ]


def test_a_mean_of_no_losses_is_refused(job):
    write_job(job, average_loss=0)
    with pytest.raises(InputError, match="average_loss is 0; it must be at least 1"):
        main(["-solver=solver.prototxt"])


def test_a_solver_that_trains_nothing_says_why(job, capsys):
    solver = job / "solver.prototxt"
    solver.write_text(solver.read_text().replace("max_iter: 3\n", ""))
    assert main(["-solver=solver.prototxt"]) == 0
    message = "solver.prototxt gives no max_iter: it is 0, as in Caffe, and nothing is "
    assert message + "trained; give one" in log_of(capsys)


def test_it_goes_on_from_a_snapshot(job, capsys):
    main(["-solver=solver.prototxt"])
    write_job(job, max_iter=5)
    capsys.readouterr()
    assert main(["-solver=solver.prototxt", "-snapshot=small_iter_3.solverstate"]) == 0
    log = log_of(capsys)
    assert "Resuming from small_iter_3.solverstate" in log
    shown = [line for line in log if re.match(r"Iteration \d+ \(", line)]
    assert shown[0].startswith("Iteration 3 (")


def test_weights_of_several_files_are_copied_in_turn(job, capsys):
    main(["-solver=solver.prototxt"])
    capsys.readouterr()
    flag = "-weights=small_iter_3.caffemodel, small_iter_3.caffemodel"
    assert main(["-solver=solver.prototxt", flag]) == 0
    log = log_of(capsys)
    assert log.count("Finetuning from small_iter_3.caffemodel") == 4  # 2 for each net
    assert "Ignoring source layer accuracy" not in log


def test_weights_as_snapshot_are_refused_with_the_sibling(job):
    main(["-solver=solver.prototxt"])
    flags = ["-solver=solver.prototxt", "-snapshot=small_iter_3.caffemodel"]
    with pytest.raises(InputError, match=r"small_iter_3\.solverstate.*--weights"):
        main(flags)


def test_a_prototxt_as_snapshot_is_refused(job):
    with pytest.raises(InputError, match="looks like: net text"):
        main(["-solver=solver.prototxt", "-snapshot=net.prototxt"])


def test_a_state_that_is_cut_off_says_where(job):
    main(["-solver=solver.prototxt"])
    state = job / "small_iter_3.solverstate"
    state.write_bytes(state.read_bytes()[:40])
    with pytest.raises(PrototxtError, match="the file is cut off"):
        main(["-solver=solver.prototxt", f"-snapshot={state}"])


def test_a_layer_that_a_snapshot_lacks_is_warned_of(job, capsys):
    main(["-solver=solver.prototxt"])
    net = job / "net.prototxt"
    net.write_text(net.read_text().replace('name: "ip"', 'name: "renamed"'))
    capsys.readouterr()
    main(["-solver=solver.prototxt", "-snapshot=small_iter_3.solverstate"])
    warning = "layer 'renamed' (InnerProduct) has no weights in small_iter_3.caffemodel"
    assert [line for line in log_of(capsys) if line.startswith(warning)]


def test_a_prototxt_as_weights_is_refused(job):
    with pytest.raises(PrototxtError, match="swapped"):
        main(["-solver=solver.prototxt", "-weights=net.prototxt"])


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-slack=-2", "-slack is -2; expected 0 to 1000 clocks, or -1 for no bound"),
        ("-slack=1001", "-slack is 1001; expected 0 to 1000 clocks"),
        ("-workers=0", "-workers is 0; give 1 or more"),
        ("-join_seconds=-1", "-join_seconds is -1; give 1 or more"),
        ("-silence_seconds=0", "-silence_seconds is 0; give 1 or more"),
        ("-threads=-1", "-threads is -1; give 0 or more"),
        ("-batches_per_clock=0", "-batches_per_clock is 0; give 1 or more"),
        ("-log_interval=-2", "-log_interval is -2; give 0 or more"),
        ("-layers_per_table=-1", "-layers_per_table is -1; give 0 or more"),
        ("-port=-3", "-port is -3; expected 1 to 65535"),
        ("-port=99999", "-port is 99999; expected 1 to 65535"),
    ],
)
def test_numbers_that_can_not_be_are_refused(job, flag, message):
    with pytest.raises(UsageError, match=message):
        main(["-solver=solver.prototxt", flag])


@pytest.mark.parametrize("channels", [0, 101])
def test_numbers_of_channels_that_can_not_be_are_refused(job, channels):
    (job / "machines").write_text("127.0.0.1:9\n127.0.0.1:10\n")
    flags = ["-machinefile=machines", "-worker_id=0", f"-channels={channels}"]
    with pytest.raises(UsageError, match=f"-channels is {channels}; expected 1 to 100"):
        main(["-solver=solver.prototxt", *flags])


def test_a_param_cache_of_a_table_that_the_net_has_not_is_refused(job):
    text = r"unknown table of -param_cache 'ipp'; did you mean 'ip'\? \(known: ip\)"
    with pytest.raises(UsageError, match=text):
        main(["-solver=solver.prototxt", "-param_cache=pinned,ipp=swapped"])


def test_flags_go_into_the_solver(job):
    line = read_line(["-level=2", "-stage=a,b"], "train")
    state = read_solver(line, "solver.prototxt").message.train_state
    assert (state.level, list(state.stage)) == (2, ["a", "b"])


def test_loose_tops_flood_the_log_only_on_request(job, capsys):
    net = (job / "net.prototxt").read_text()
    loose = 'layer { name: "loose" type: "DummyData" top: "loose" '
    loose += "dummy_data_param { shape { dim: 40 } } }"
    (job / "net.prototxt").write_text(net + loose)
    main(["-solver=solver.prototxt"])
    log = log_of(capsys)
    assert "    and 24 more of 'loose'; add a Silence layer or --all-outputs" in log
    assert not any("output #30" in line for line in log)
    main(["-solver=solver.prototxt", "--all-outputs"])
    assert any("net output #30" in line for line in log_of(capsys))


@pytest.mark.parametrize("flags", [[], ["-gpu", "0"], ["-gpu=all"]])
def test_a_wish_for_gpus_is_answered_in_one_line(job, capsys, flags):
    write_job(job, **({} if flags else {"solver_mode": "GPU"}))
    assert main(["-solver=solver.prototxt", *flags]) == 0
    said = [line for line in log_of(capsys) if "no usable GPU" in line]
    assert len(said) == 1


def test_a_budget_is_announced(job, capsys):
    assert main(["-solver=solver.prototxt", "-memory=1MB"]) == 0
    assert any(line.startswith("A step runs in ") for line in log_of(capsys))


def test_both_a_snapshot_and_weights_are_too_much(job):
    with pytest.raises(UsageError, match="but not both"):
        main(["-solver=solver.prototxt", "-snapshot=a", "-weights=b"])


def test_what_the_server_counts_is_logged_once_for_an_iteration(job, capsys):
    write_job(job, max_iter=4, test_iter=3)
    flags = ["-solver=solver.prototxt", "-dtype=float64", "-log_interval=2"]
    assert main(flags) == 0
    told = [line for line in log_of(capsys) if ", waited " in line]
    assert [line.partition(",")[0] for line in told] == ["Iteration 2", "Iteration 4"]


def test_statistics_that_would_be_lost_are_refused_before_the_run(job):
    with pytest.raises(InputError, match=r"-stats nowhere/s\.json"):
        main(["-solver=solver.prototxt", "-stats=nowhere/s.json"])
    assert not list(job.glob("*.caffemodel"))
