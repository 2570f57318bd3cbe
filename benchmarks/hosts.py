"""Two and three hosts made of network namespaces, with links of several rates.

    sudo GEEPS_CAFFE_CORPUS=... python -m benchmarks.hosts --steps 12 --write

Two workers of one thread each train AlexNet at batch 8, one a host, over a link on
which communication alone takes a given share of the computing time. What is waited for
tables is compared with the bound of `link_bound` and with `-overlap none`. Then three
hosts with CURVE keys train LeNet to the weights of one process. Needs root.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import prototxt
from benchmarks.link_bound import Layer, waiting
from benchmarks.models import MODELS, read_model
from benchmarks.network import Network, allowed
from benchmarks.results import append
from prototxt import write_text
from tests.end_to_end.digits import make_lenet

BATCH = 8
TRAIN = [sys.executable, "-m", "geeps_caffe", "train", "-threads=1", "-seed=1"]
SHARES = (0.3, 0.6, 1.0, 1.5)  # of communication in computing
ENVIRON = {**os.environ, "GLOG_logtostderr": "1", "OMP_NUM_THREADS": "1"}


def write_alexnet(folder, steps):
    """The net with constant data, and a solver."""
    corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"])
    message = read_model(MODELS["alexnet"], corpus)
    source = message.layer[0]
    source.Clear()
    source.name, source.type = "data", "DummyData"
    source.top.extend(["data", "label"])
    for shape in ((BATCH, 3, 227, 227), (BATCH,)):
        source.dummy_data_param.shape.add(dim=shape)
        source.dummy_data_param.data_filler.add(type="constant", value=0.5)
    (folder / "net.prototxt").write_text(write_text(message))
    (folder / "solver.prototxt").write_text(
        f'net: "net.prototxt" base_lr: 1e-6 lr_policy: "fixed" momentum: 0.9\n'
        f"weight_decay: 5e-4 max_iter: {steps} display: {steps // 2} \n"
        f"snapshot_after_train: false solver_mode: CPU\n"
    )


def step_seconds(log):
    """Of the second half, as the log has it."""
    found = re.findall(r"Iteration [1-9]\d* \(\S+ iter/s, (\S+)s/(\d+) iters", log)
    seconds, count = found[-1]
    return float(seconds) / int(count)


def alone(folder, steps):
    """Two runs side by side that know nothing of each other: seconds, layers."""
    flags = ["-solver=solver.prototxt", f"-stats={folder}/alone.json"]
    runs = [
        subprocess.Popen(
            [*TRAIN, *flags], cwd=folder, env=ENVIRON, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    logs = [run.communicate()[1] for run in runs]
    stats = json.loads((folder / "alone.json").read_text())
    return max(step_seconds(log) for log in logs), layers_of(stats, steps)


def layers_of(stats, steps):
    """Layers with their times per step and their tables' bytes, in the net's order."""
    sizes = {}
    for name, table in stats["tables"].items():
        sizes[name.split("..")[-1]] = table["push_bytes"] // table["pushes"]
    return [
        Layer(
            name,
            times.get("forward", 0.0) / steps,
            times.get("backward", 0.0) / steps,
            sizes.get(name, 0),
        )
        for name, times in stats["layers"].items()
    ]


def together(network, folder, steps, overlap, key):
    """Seconds of a step, and of waiting in it, on the host that waits longer."""
    lines = "".join(f"{network.address(host)}\n" for host in range(2))
    (folder / "machines").write_text(lines)
    flags = ["-solver=solver.prototxt", "-machinefile=machines", f"-key={key}"]
    flags += [f"-overlap={overlap}", f"-stats={folder}/stats.json", "-log_dir=logs"]
    commands = [[*TRAIN, *flags, f"-worker_id={host}"] for host in range(2)]
    (code, log), (other, more) = network.run(commands, folder, ENVIRON)
    assert code == other == 0, log + more
    waits = []
    for name in ("stats.json", "stats.json.1"):
        stats = json.loads((folder / name).read_text())
        waits.append(sum(t["wait_seconds"] for t in stats["tables"].values()))
    return step_seconds(log), max(waits) / steps


def keys(folder):
    """A key for the hosts."""
    words = [sys.executable, "-m", "geeps_caffe", "keygen", str(folder / "key")]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def overlap_table(steps, shares, secret):
    """Rows for several rates."""
    lines = [
        "Numbers travel " + ("encrypted." if secret else "plainly (-key none)."),
        "",
        "| communication / computing | Gbit/s | step, s | waiting, s (%) | bound, s "
        "| without overlap: step, waiting |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name, Network(2) as network:
        folder = Path(name)
        write_alexnet(folder, steps)
        keys(folder)
        compute, layers = alone(folder, steps)
        size = sum(layer.nbytes for layer in layers)
        for share in shares:
            rate = size / (share * compute)
            network.shape(8 * rate)
            key = folder / "key" if secret else "none"
            step, wait = together(network, folder, steps, "layer", key)
            none, none_wait = together(network, folder, steps, "none", key)
            bound, _ = waiting(layers, rate)
            lines.append(
                f"| {share} | {8e-9 * rate:.2f} | {step:.2f} | {wait:.3f} "
                f"({100 * wait / step:.0f} %) | {bound:.3f} | {none:.2f}, "
                f"{none_wait:.3f} |"
            )
            print(lines[-1], flush=True)
    lines.append("")
    lines.append(f"Computing alone, two at a time: {compute:.2f} s a step.")
    return lines


def equality():
    """Three hosts against one process, on LeNet in double precision."""
    exact = ["-engine=reference", "-dtype=float64", "-batch_mode=global"]
    with tempfile.TemporaryDirectory() as name, Network(3) as network:
        folder = Path(name)
        make_lenet(folder, np.random.default_rng(1), max_iter=20, snapshot=0)
        net = (folder / "train_val.prototxt").read_text()
        text = net.replace("batch_size: 64", "batch_size: 66")
        (folder / "train_val.prototxt").write_text(text)
        keys(folder)
        solver = "-solver=solver.prototxt"
        subprocess.run(
            [*TRAIN, solver, *exact],
            cwd=folder,
            env=ENVIRON,
            check=True,
            stderr=subprocess.DEVNULL,
        )
        weights = folder / "lenet_iter_20.caffemodel"
        one = _arrays(weights)
        lines = "".join(f"{network.address(host)}\n" for host in range(3))
        (folder / "machines").write_text(lines)
        flags = [solver, *exact, "-machinefile=machines", f"-key={folder}/key"]
        commands = [[*TRAIN, *flags, f"-worker_id={h}", "-log_dir=l"] for h in range(3)]
        ends = network.run(commands, folder, ENVIRON)
        assert [code for code, _ in ends] == [0] * 3, ends
        pairs = zip(one, _arrays(weights), strict=True)
        most = max(np.abs(a - b).max() / np.abs(a).max() for a, b in pairs)
    return f"Three hosts with keys and one process after 20 steps: {most:.1e} apart."


def _arrays(path):
    """All blobs of a weight file."""
    layers = prototxt.read_weights(path).layers
    return [blob.array() for layer in layers for blob in layer.blobs]


def main():
    """Measure, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--shares", type=float, nargs="*", default=SHARES)
    parser.add_argument("--encrypted", action="store_true")
    parser.add_argument("--write", action="store_true")
    flags = parser.parse_args()
    reason = allowed()
    if reason:
        sys.exit(f"network namespaces can't be made here: {reason}")
    lines = [equality(), ""]
    print(lines[0], flush=True)
    lines += overlap_table(flags.steps, flags.shares, secret=False)
    if flags.encrypted:
        lines += ["", *overlap_table(flags.steps, flags.shares, secret=True)]
    if flags.write:
        words = "python -m benchmarks.hosts " + " ".join(sys.argv[1:])
        when = f"{datetime.date.today()}, {os.cpu_count()} cores: `{words}`."
        append(["", "## Hosts in network namespaces", "", when, "", *lines])


if __name__ == "__main__":
    main()
