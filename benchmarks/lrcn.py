"""Train the recurrent nets of LRCN and GeePS-Caffe on two videos of UCF-101.

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.lrcn [NAME ...] [--engine ENGINE]

Solvers and nets are the authors', their template's worker number filled in; the
videos are read by our own source, one from a folder of frames and one from an .avi
file. Clips are shorter and images smaller than in the files, by override_clips. A
line for each: the means of the first and the last 20 losses, and their ratio. Exit
code 1 if one is above 0.8.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.graph.sequences import override_clips

BOUND = 0.8
_GEEPS = "cuihenggang__caffe/examples/LRCN_activity_recognition/8parts"
_TUNER = "cuihenggang__mltuner-geeps/apps/caffe/examples/LRCN_activity_recognition"


@dataclass(frozen=True)
class Config:
    """A solver and its net, and what is overridden."""

    solver: str
    net: str
    iterations: int
    clips: dict[str, Any] = field(default_factory=dict)


SMALL = {"frames": 4, "videos": 2, "size": [120, 160], "crop": 115}
CONFIGS = {
    "rgb": Config(
        f"{_GEEPS}/lstm_solver_RGB.prototxt.template",
        f"{_GEEPS}/train_test_lstm_RGB.prototxt.template",
        200,
        SMALL,
    ),
    "googlenet": Config(
        f"{_GEEPS}/lstm_solver_RGB_googlenet.prototxt.template",
        f"{_GEEPS}/train_test_lstm_RGB_googlenet.prototxt.template",
        1000,
        {"frames": 2, "videos": 1},
    ),
    "rgb-from-scratch": Config(
        f"{_TUNER}/1part/lstm_solver_RGB.prototxt.template",
        f"{_TUNER}/1part/train_test_lstm_RGB.prototxt.template",
        200,
        SMALL,
    ),
}


def lay_out(corpus: Path, config: Config) -> str:
    """Put solver, net, lists and videos into the working directory, as LRCN has them.

    Returns the solver's name.
    """
    videos = corpus / "data" / "ucf101_sample"
    eyes, pitch = "v_ApplyEyeMakeup_g01_c01", "v_BaseballPitch_g01_c01"
    os.mkdir("frames")
    os.symlink(videos / f"frames_{eyes}", f"frames/{eyes}")
    os.symlink(videos / f"{pitch}.avi", f"frames/{pitch}.avi")
    for side in ("train", "test"):
        Path(f"ucf101_split1_{side}Videos.txt").write_text(
            f"ApplyEyeMakeup/{eyes} 0\nBaseballPitch/{pitch} 6\n", encoding="utf-8"
        )
    net = prototxt.parse_net(_filled(corpus / "zoo" / config.net)).message
    text = prototxt.write_text(override_clips(net, config.clips))
    name = Path(config.net).name.replace("template", "0")
    Path(name).write_text(text, encoding="utf-8")
    solver = _filled(corpus / "zoo" / config.solver)
    Path("solver.prototxt").write_text(solver, encoding="utf-8")
    return "solver.prototxt"


def _filled(template: Path) -> str:
    """A template of GeePS for worker 0."""
    return template.read_text(encoding="utf-8").replace("%", "0")


def losses_of(solver: str, iterations: int, settings: RunSettings) -> list[float]:
    """The loss of each iteration; tests and snapshots of the solver are left out."""
    message = prototxt.read_solver(solver).message
    message.ClearField("test_interval")
    message.ClearField("test_iter")
    message.ClearField("test_state")
    trainer = Trainer(message, solver, settings)
    losses = []
    for _ in range(iterations):
        trainer.step(1)
        losses.append(trainer.net.loss())
    trainer.close()
    return losses


def main() -> int:
    """Train the configurations that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CONFIGS))
    parser.add_argument("--engine")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"]).resolve()
    settings = RunSettings(engine=options.engine, seed=options.seed)
    good = True
    for name in options.names:
        config = CONFIGS[name]
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            started = time.perf_counter()
            losses = losses_of(lay_out(corpus, config), config.iterations, settings)
            seconds = time.perf_counter() - started
        first, last = float(np.mean(losses[:20])), float(np.mean(losses[-20:]))
        good &= last <= BOUND * first
        print(
            f"{name:<18} {config.iterations:5} iterations {first:8.4f} {last:8.4f} "
            f"{last / first:6.3f} <= {BOUND} {seconds:7.1f} s",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
