"""Real Caffe as a peer of a benchmark: a process of an interpreter that has pycaffe."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import prototxt
from benchmarks.memory import Memory
from benchmarks.models import MODELS, batch_of, read_model, solver_of

PROCESS = Path(__file__).with_name("caffe_process.py")


class CaffePeer:
    """Trains a net of MODELS in Caffe; calls wait for the answer.

    Args:
        python: an interpreter whose `import caffe` works. Its PYTHONPATH is what
            CAFFE_PYTHONPATH says, since ours is not for it.
        net: a name in MODELS.
        corpus: where their prototxts are.
        threads: for OpenBLAS and OpenMP.
        weights: file with the first weights by our keys.
    """

    def __init__(
        self, python: str, net: str, corpus: str, threads: int, weights: str
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        _write_job(Path(self._folder.name), net, corpus, weights)
        self._process = subprocess.Popen(
            [python, str(PROCESS), self._folder.name],
            env=_environment(threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()
        self._memory = Memory(self._process.pid)

    def ask(self, what: str, number: int = 0) -> Any:
        """What "losses", "times" (of so many steps) or "memory" gives."""
        if what == "memory":
            return self._memory.peak()
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what} {number}\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            code = self._process.returncode
            sys.exit(f"Caffe's process ended with {code}; above is what it said")
        return json.loads(line)


def _write_job(folder: Path, net: str, corpus: str, weights: str) -> None:
    model = MODELS[net]
    solver = solver_of(model, read_model(model, Path(corpus)))
    (folder / "solver.prototxt").write_text(prototxt.write_text(solver))
    (folder / "weights.npz").write_bytes(Path(weights).read_bytes())
    images, labels = batch_of(model)
    np.savez(folder / "batch.npz", data=images, label=labels)


def _environment(threads: int) -> dict[str, str]:
    count = str(threads)
    found = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if path := os.environ.get("CAFFE_PYTHONPATH"):
        found["PYTHONPATH"] = path
    quiet = {"GLOG_minloglevel": "2"}
    return found | quiet | {"OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count}
