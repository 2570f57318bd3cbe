import os
import subprocess
import sys

import pytest

from geeps_caffe import cli
from geeps_caffe.cli import COMMANDS, find_command, main, usage
from geeps_caffe.errors import EXIT_BUG, EXIT_FAILURE, EXIT_INPUT, EXIT_USAGE


@pytest.fixture(autouse=True)
def no_log_files(monkeypatch):
    monkeypatch.setenv("GLOG_logtostderr", "1")


@pytest.mark.parametrize(
    "words",
    [
        ["train", "--solver=s", "-gpu", "0"],
        ["--solver=s", "-gpu", "0", "train"],
        ["--solver=s", "train", "-gpu", "0"],
    ],
)
def test_the_command_stands_first_last_or_between(words):
    assert find_command(words) == ("train", ["--solver=s", "-gpu", "0"])


def test_a_value_that_is_called_like_a_command_is_a_value():
    assert find_command(["time", "-model", "test"]) == ("time", ["-model", "test"])


@pytest.mark.parametrize("words", [[], ["--help"], ["-help"], ["-h"]])
def test_the_help_names_all_commands(words, capsys):
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_the_help_of_a_command_names_its_flags(capsys):
    assert main(["train", "--help"]) == 0
    assert "-sighup_effect" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("run", "run SCRIPT [ARGUMENTS]"),
        ("keygen", "keygen FILE"),
        ("version", "version [-verbose]"),
    ],
)
def test_the_help_of_a_command_without_flags_says_what_follows_it(
    command, usage, capsys
):
    assert main([command, "-help"]) == 0
    assert usage in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--version"], ["-version"], ["version"]])
def test_the_version_is_told(words, capsys):
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("geeps-caffe version ")


def test_an_unknown_command_is_a_fault_of_usage_with_the_nearest_name(capsys):
    assert main(["trian"]) == EXIT_USAGE
    assert "did you mean 'train'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train"], "Need a solver definition to train."),
        (["test"], "Need a model definition to score."),
        (["test", "-model", "m"], "Need model weights to score."),
        (["time"], "Need a model definition to time."),
        (["plan"], "give either -solver FILE or -model FILE"),
        (["train", "-sover", "x"], "did you mean 'solver'"),
        (["train", "-solver"], "flag -solver needs a value"),
        (["train", "-solver", "s", "more"], "unexpected 'more'"),
        (["train", "mine.prototxt"], "did you mean -solver mine.prototxt?"),
        (["time", "mine.prototxt"], "did you mean -model mine.prototxt?"),
        (["train", "-solver", "s", "-iterations", "x"], "expected a whole number"),
        (["train", "-solver", "s", "-snapshot=a", "-weights=b"], "but not both"),
        (["train", "-solver", "s", "-workers", "0"], "-workers is 0"),
        (["train", "-solver", "s", "-memory", "lots"], "no amount of memory"),
        (["train", "-solver", "s", "-sigint_effect", "die"], "-sigint_effect"),
        (["time", "-model", "m", "-phase", "BOTH"], "TRAIN"),
    ],
)
def test_faults_of_the_command_line_are_one_line_and_exit_2(words, message, capsys):
    assert main(words) == EXIT_USAGE
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert error.startswith(f"geeps-caffe {words[0]}: ")
    assert error.count(f"{words[0]}: ") == 1


def test_a_missing_file_is_a_fault_of_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--solver=absent.prototxt"]) == EXIT_INPUT
    assert "absent.prototxt: no such file" in capsys.readouterr().err


def test_one_fault_of_a_prototxt_is_one_line(tmp_path, capsys):
    path = tmp_path / "solver.prototxt"
    path.write_text("base_lr: 0.1\nbase_rl: 0.1\n")
    assert main(["train", f"-solver={path}"]) == EXIT_INPUT
    error = capsys.readouterr().err
    assert f"{path}:2:1: " in error
    assert error.count("\n") == 1


def test_with_debug_the_stack_is_shown(capsys):
    assert main(["train", "-debug", "-solver=absent"]) == EXIT_INPUT
    assert "Traceback" in capsys.readouterr().err


def test_a_fault_of_ours_keeps_its_stack_and_exits_70(capsys, monkeypatch):
    def fail(command, words):
        raise RuntimeError("surprise")

    monkeypatch.setattr(cli, "_run", fail)
    assert main(["train"]) == EXIT_BUG
    error = capsys.readouterr().err
    assert "RuntimeError: surprise" in error
    assert "version -verbose" in error


def test_memory_that_is_not_there_is_no_fault_of_ours(capsys, monkeypatch):
    def fail(command, words):
        raise MemoryError("Unable to allocate 101. TiB")

    monkeypatch.setattr(cli, "_run", fail)
    assert main(["train"]) == EXIT_INPUT
    error = capsys.readouterr().err
    assert error.startswith("geeps-caffe train: out of memory: Unable to allocate 101.")
    assert error.count("\n") == 1


def test_a_failing_python_layer_is_no_fault_of_ours(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing_layer.py").write_text(
        "import caffe\nclass Failing(caffe.Layer):\n"
        "    def setup(self, bottom, top):\n        raise IndexError('mine')\n"
    )
    (tmp_path / "net.prototxt").write_text(
        'layer { name: "py" type: "Python" top: "y" '
        'python_param { module: "failing_layer" layer: "Failing" } }'
    )
    assert main(["time", "-model=net.prototxt"]) == EXIT_FAILURE
    error = capsys.readouterr().err
    assert "IndexError: mine" in error
    assert "in setup of layer 'py' (Python) at net.prototxt:1" in error
    assert "report it" not in error


@pytest.mark.parametrize("command", ["time", "plan", "simulate"])
def test_where_data_is_missing_made_up_records_are_offered(command, tmp_path, capsys):
    net = tmp_path / "net.prototxt"
    net.write_text(
        'layer { name: "d" type: "Data" top: "data" '
        'data_param { source: "gone" backend: LMDB batch_size: 2 } }'
    )
    assert main([command, f"-model={net}"]) == EXIT_INPUT
    assert "with -dummy_data the net needs no data" in capsys.readouterr().err
    assert main([command, f"-model={net}", "-dummy_data"]) == EXIT_INPUT
    error = capsys.readouterr().err
    assert "give that of one record" in error
    assert "needs no data" not in error


def test_help_may_be_a_command(capsys):
    for words, again in ((["help"], ["-help"]), (["help", "time"], ["time", "-help"])):
        assert main(words) == 0
        shown = capsys.readouterr().out
        assert main(again) == 0
        assert capsys.readouterr().out == shown


def test_every_command_has_a_module_with_main():
    folder = os.path.dirname(cli.__file__)
    for name in COMMANDS:
        with open(os.path.join(folder, "commands", f"{name}.py")) as file:
            assert "def main(argv" in file.read(), name


def test_usage_has_a_line_for_each_command():
    assert sum(line.startswith("  ") for line in usage().splitlines()) == len(COMMANDS)


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "module",
    [
        "cv2",
        "geeps_caffe.engines.cuda",
        "geeps_caffe.paramserver.agent",
        "geeps_caffe.paramserver.hosts.cluster_host",
    ],
)
def test_training_imports_late_what_many_runs_never_use(module):
    run_python(
        "import geeps_caffe.commands.solver_run, sys; "
        f"assert {module!r} not in sys.modules"
    )


def test_who_starts_workers_imports_nothing_of_nets():
    run_python(
        "import geeps_caffe.commands.train, geeps_caffe.paramserver.launcher, sys; "
        "assert not {'geeps_caffe.graph', 'geeps_caffe.schedule'} & set(sys.modules)"
    )


def test_garbage_is_looked_for_once_a_command_is_imported():
    run_python(
        "import gc, sys; from geeps_caffe.__main__ import start\n"
        "sys.argv = ['geeps-caffe', 'version']; start()\n"
        "assert gc.isenabled() and gc.get_freeze_count() > 10_000"
    )


def test_garbage_waits_while_modules_are_imported():
    run_python(
        "import gc; from geeps_caffe.collector import importing\n"
        "with importing(): assert not gc.isenabled()\n"
        "assert gc.isenabled() and not gc.get_freeze_count()"
    )


def test_help_comes_quickly_because_nothing_heavy_is_imported():
    code = (
        "import sys; from geeps_caffe.cli import main; main(['--help']); "
        "assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_warnings_of_numpy_are_not_shown(tmp_path):
    model = tmp_path / "net.prototxt"
    model.write_text(
        'layer { name: "in" type: "DummyData" top: "x" dummy_data_param { '
        'shape { dim: 2 } data_filler { type: "constant" value: -1 } } }\n'
        'layer { name: "log" type: "Log" bottom: "x" top: "y" }'
    )
    command = [sys.executable, "-m", "geeps_caffe", "time", "-iterations=1"]
    command += [f"-model={model}", "-engine=reference"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Warning:" not in done.stderr
