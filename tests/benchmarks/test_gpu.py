"""The script for a GPU runs whole on the double, without what GPU machines may lack."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Stands before the script: what a machine with a GPU may lack.
BARE = """
import sys
for name in ("cv2", "lmdb", "zmq", "plyvel", "pytest", "hypothesis", "torch"):
    sys.modules[name] = None
from benchmarks.gpu import main
sys.exit(main(sys.argv[1:]))
"""


def run(*flags):
    """The lines that a piece prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", BARE, *flags],
        cwd=ROOT,
        env={
            "PYTHONPATH": str(ROOT),
            "PATH": "/usr/bin:/bin",
            "HOME": str(Path.home()),
        },
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_device_is_described():
    lines = run("device")
    assert "the double of CuPy" in lines[0]
    assert "without cv2, lmdb" in lines[0]
    assert lines[-1].endswith(" 0 failed")


@pytest.mark.parametrize(
    ("piece", "only", "least"),
    [
        ("operations", "conv", 5),
        ("recordings", "Pool", 5),
        ("solvers", "SGD__mom09", 1),
        ("nccl", "1,000", 1),
        ("bits", "lenet", 4),
    ],
)
def test_checks_are_made_and_counted(piece, only, least):
    lines = run(piece, "--only", only)
    assert sum(line.startswith("ok ") for line in lines) >= least
    assert lines[-1].endswith(" 0 failed")


def test_a_piece_that_runs_out_of_time_says_where_to_go_on():
    with pytest.raises(AssertionError, match="no time left: go on with --skip 3"):
        run("operations", "--seconds", "0", "--skip", "3")


def test_steps_and_memory_are_timed():
    lines = run("steps", "--net", "lenet", "--batch", "2", "--steps", "1")
    assert lines[1].startswith("lenet batch 2 ours: ")
    lines = run("memory", "--net", "lenet", "--batch", "2", "--steps", "1")
    assert len(lines) == 6


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["operations", "recordings", "solvers"])
def test_all_checks_pass_on_the_double(piece):
    assert run(piece)[-1].endswith(" 0 failed")
