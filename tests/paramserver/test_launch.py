"""Real processes through a real agent."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.errors import (
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_PARAMETER_SERVER,
    EXIT_PEER_LOST,
    InputError,
    PeerLost,
    UsageError,
)
from geeps_caffe.paramserver import Client, Limits, LocalStore, launch, open_store
from geeps_caffe.paramserver.connect import SILENCE
from tests.paramserver import worker
from tests.paramserver.programs import Program

ROOT = Path(__file__).parents[2]
LIMITS = Limits(silence=30.0, grace=20.0)


def run(folder, mode, *arguments, workers=2, limits=LIMITS):
    command = [sys.executable, "-m", "tests.paramserver.worker", mode, str(folder)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return launch([*command, *arguments], workers, folder / "logs", limits, environ)


def values(folder, rank):
    with np.load(folder / f"rank{rank}.npz") as file:
        return {name: file[name] for name in file}


def expected(rule, dtype):
    """One worker with the mean gradients of two."""
    shared = worker.tables(dtype)
    program = Program(Client(LocalStore()), shared, rule=rule, hyper=worker.HYPER)
    program.start([np.ones(t.size) for t in shared])
    for clock in range(worker.CLOCKS):
        first, second = (worker.update_of(rank, clock, shared) for rank in range(2))
        program.step([(a + b) / 2 for a, b in zip(first, second, strict=True)])
    return {t.name: program.client.values(t.name) for t in shared}


def test_a_signal_before_workers_listen_is_a_stop_that_was_asked_for(tmp_path):
    text = "import os, signal; os.kill(os.getppid(), signal.SIGTERM); signal.pause()"
    code = launch([sys.executable, "-c", text], 2, tmp_path, LIMITS)
    assert code == EXIT_INTERRUPTED


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", ["add", "SGD"])
def test_two_processes_equal_one_and_two_runs_are_equal_to_the_bit(
    tmp_path, rule, dtype
):
    runs = []
    for name in ("first", "second"):
        assert run(tmp_path / name, "train", rule, dtype) == 0
        runs += [values(tmp_path / name, rank) for rank in range(2)]
    for name, wanted in expected(rule, dtype).items():
        np.testing.assert_allclose(runs[0][name], wanted, 1e-5, 1e-6)
        for other in runs[1:]:
            np.testing.assert_array_equal(other[name], runs[0][name])


@pytest.fixture
def output(tmp_path, capfd):
    """What rank 0 printed, and what rank 1 wrote to its file."""
    return lambda: (
        capfd.readouterr().out,
        (tmp_path / "logs" / "rank1.log").read_text(),
    )


@pytest.mark.parametrize(
    ("mode", "name"), [("killed", "SIGKILL"), ("killed namelessly", "signal 40")]
)
def test_a_killed_worker_ends_all_with_its_name_and_clock(tmp_path, output, mode, name):
    assert run(tmp_path, mode, workers=3) == EXIT_PEER_LOST
    survivor, _ = output()
    other = (tmp_path / "logs" / "rank2.log").read_text()
    for text in (survivor, other):
        assert "PeerLost: lost rank 1 (host " in text
        assert f"its last clock was 2: it was killed by {name}" in text


@pytest.mark.slow
def test_a_silent_worker_is_given_up(tmp_path, output):
    limits = Limits(silence=2.0, grace=1.0)
    assert run(tmp_path, "stopped", limits=limits) == EXIT_PEER_LOST
    survivor, _ = output()
    assert "PeerLost: no sign of life for 2 s from rank 1" in survivor
    assert "its last clock was 2" in survivor


def test_a_worker_that_sends_garbage_ends_all_with_its_name_and_clock(tmp_path, output):
    assert run(tmp_path, "garbage") == EXIT_PEER_LOST
    survivor, _ = output()
    assert "PeerLost: lost rank 1 (host " in survivor
    # what came in one piece with the garbage is not believed either
    assert re.search(r"its last clock was [12]: a frame of kind 255", survivor)


def test_workers_with_other_tables_are_refused_with_the_difference(tmp_path, output):
    assert run(tmp_path, "differ") == EXIT_PARAMETER_SERVER
    for text in output():
        assert "do not share the same tables" in text
        assert "table w: 3 rows of 128 float32, size 300" in text
        assert "table w: 4 rows of 128 float32, size 500" in text


def test_a_worker_that_fails_by_itself_gives_its_exit_code(tmp_path, output, caplog):
    assert run(tmp_path, "fail") == EXIT_INPUT
    survivor, failed = output()
    assert "which" not in failed
    assert "it ended with exit code 3, see" in survivor
    assert "rank 1: rank one has no data" in caplog.text


def test_workers_that_were_asked_to_stop_have_no_log_to_show(tmp_path, output, caplog):
    assert run(tmp_path, "stop") == EXIT_INTERRUPTED
    assert all("stopped as asked" in text for text in output())
    assert "rank 1:" not in caplog.text


def test_a_log_that_can_not_be_written_is_named_before_a_rank_starts(tmp_path, capfd):
    (tmp_path / "logs").touch()
    with pytest.raises(InputError, match="the log of rank 1"):
        run(tmp_path, "stop")
    assert capfd.readouterr().out == ""


def test_signals_go_to_all_workers(tmp_path):
    assert run(tmp_path, "obey") == 0
    for rank in range(2):
        assert (tmp_path / f"signal{rank}").read_text() == "[15]"


def test_workers_may_leave_without_sharing_anything(tmp_path):
    assert run(tmp_path, "idle") == 0


def test_a_process_without_an_agent_has_a_store_of_its_own():
    assert isinstance(open_store({}), LocalStore)


def test_an_agent_that_is_not_there_is_named(tmp_path):
    path = str(tmp_path / "agent")
    environ = {"GEEPS_CAFFE_RANK": "0", "GEEPS_CAFFE_RANKS": "2"}
    with pytest.raises(PeerLost, match=f"no host agent at {path}: No such file"):
        open_store({**environ, "GEEPS_CAFFE_AGENT": path})


def test_workers_give_signs_of_life_as_often_as_the_agent_wants_them(tmp_path):
    text = f"import os; open('{tmp_path}/found', 'w').write(os.environ['{SILENCE}'])"
    assert launch([sys.executable, "-c", text], 1, tmp_path, Limits(silence=7.5)) == 0
    assert (tmp_path / "found").read_text() == "7.5"
    environ = {"GEEPS_CAFFE_RANK": "0", "GEEPS_CAFFE_RANKS": "2", SILENCE: "long"}
    with pytest.raises(UsageError, match=f"{SILENCE} is 'long'; expected seconds"):
        open_store({**environ, "GEEPS_CAFFE_AGENT": "/nowhere"})


@pytest.mark.parametrize(("rank", "ranks"), [("", "2"), ("2", "2"), ("x", "1")])
def test_contradictory_environments_are_refused(rank, ranks):
    environ = {"GEEPS_CAFFE_RANK": rank, "GEEPS_CAFFE_RANKS": ranks}
    with pytest.raises(UsageError, match="GEEPS_CAFFE_RANK"):
        open_store({**environ, "GEEPS_CAFFE_AGENT": "/nowhere"})


def state(pid):
    """As the system has it: T for stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def await_all(things):
    end = time.monotonic() + 60
    while not all(thing() for thing in things):
        assert time.monotonic() < end
        os.sched_yield()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_ctrl_z_stops_the_workers_too_and_they_go_on_together(tmp_path):
    """Workers have sessions of their own, which a terminal knows nothing of."""
    command = [sys.executable, "-m", "tests.paramserver.worker", "until", str(tmp_path)]
    text = (
        "import sys; from pathlib import Path; "
        "from geeps_caffe.paramserver import launch; "
        f"sys.exit(launch({command!r}, 2, Path({str(tmp_path)!r})))"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", text], env=environ) as launcher:
        started = [(tmp_path / f"rank{rank}.started").exists for rank in range(2)]
        await_all(started)
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
        workers = children.read_text().split()
        assert len(workers) == 2
        launcher.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(launcher.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        await_all([lambda pid=pid: state(pid) == "T" for pid in workers])
        (tmp_path / "stop").touch()
        launcher.send_signal(signal.SIGCONT)
        assert launcher.wait(60) == 0
    assert values(tmp_path, 0)["clocks"] == values(tmp_path, 1)["clocks"] > 0
