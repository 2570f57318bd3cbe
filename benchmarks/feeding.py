"""What it costs to train from a database of JPEGs instead of from constants.

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.feeding [--write]

CaffeNet as it is, at a batch of 32: two trainers in one process take turns, some steps
each; the first steps of a turn, which the batches read ahead of it serve, don't count.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import prototxt
from benchmarks.input_databases import SIDE, make_databases
from benchmarks.results import tell, title
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.execution.training import Training
from prototxt import BlobProto, SolverParameter

NET = "BVLC__caffe/models/bvlc_reference_caffenet/train_val.prototxt"
BATCH, RECORDS, RATE = 32, 768, 1e-4
NOT_COUNTED = 4  # steps of a turn


def net_of(corpus: Path, folder: Path) -> Any:
    """CaffeNet's net on a database and a mean in a folder."""
    mean = BlobProto(num=1, channels=3, height=SIDE, width=SIDE)
    mean.data.extend(np.full(3 * SIDE * SIDE, 117, np.float32))
    (folder / "mean.binaryproto").write_bytes(mean.SerializeToString())
    net = prototxt.read_net(str(corpus / "zoo" / NET)).message
    for layer in net.layer:
        if layer.type == "Data":
            layer.data_param.source = str(folder / "jpeg")
            layer.data_param.batch_size = BATCH
            layer.transform_param.mean_file = str(folder / "mean.binaryproto")
    return net


def on_dummies(net: Any) -> Any:
    """The same net on constants, which DummyData fills in once."""
    found = type(net)()
    found.CopyFrom(net)
    for layer in found.layer:
        if layer.type == "Data":
            layer.ClearField("data_param")
            layer.ClearField("transform_param")
            layer.type = "DummyData"
            layer.dummy_data_param.shape.add(dim=(BATCH, 3, 227, 227))
            layer.dummy_data_param.shape.add(dim=(BATCH,))
    return found


def training_of(net: Any) -> Training:
    """Of one of the two nets, by CaffeNet's rule."""
    solver = SolverParameter(
        net_param=net, base_lr=RATE, lr_policy="fixed", momentum=0.9, max_iter=1 << 30
    )
    solver.weight_decay = 5e-4
    return Trainer(solver, "", RunSettings(seed=1)).training


def measure(steps: int, turns: int) -> dict[str, list[float]]:
    """Seconds of the steps that count, by where the records come from."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"])
        make_databases(Path(folder), corpus, RECORDS)
        net = net_of(corpus, Path(folder))
        trainings = {
            "JPEGs": training_of(net),
            "DummyData": training_of(on_dummies(net)),
        }
        times: dict[str, list[float]] = {name: [] for name in trainings}
        for turn in range(turns):
            for name, training in trainings.items():
                for step in range(steps + NOT_COUNTED):
                    start = time.perf_counter()
                    training.iterate(turn * (steps + NOT_COUNTED) + step, RATE)
                    if step >= NOT_COUNTED:
                        times[name].append(time.perf_counter() - start)
        for training in trainings.values():
            training.close()
    return times


def table(times: dict[str, list[float]]) -> list[str]:
    """Lines for the results."""
    lines = ["| records | ms a step, median / minimum |", "|---|---|"]
    for name, found in times.items():
        middle, least = statistics.median(found), min(found)
        lines.append(f"| {name} | {1e3 * middle:.1f} / {1e3 * least:.1f} |")
    jpegs, dummy = (statistics.median(found) for found in times.values())
    return [*lines, "", f"JPEGs take {100 * (jpegs / dummy - 1):+.1f} % longer."]


def main() -> None:
    """Measure and print; append to the results on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = title("CaffeNet from JPEGs and from DummyData", "Batch 32")
    lines += table(measure(options.steps, options.turns))
    tell(lines, options.write)


if __name__ == "__main__":
    main()
