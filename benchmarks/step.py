"""Ours against PyTorch and Caffe: forward, backward and update of known nets.

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.step --net lenet --steps 50 --write

Each peer is a process of its own; they take turns, a few steps each. Their first
losses are compared, then times are medians and minima over all turns. The peak is
that of a matrix product in the same run. Needs PyTorch, or `--without` it.

Real Caffe takes part with `--caffe PYTHON`, an interpreter that has pycaffe
(CAFFE_PYTHONPATH is its PYTHONPATH). It draws dropout masks of its own, so its losses
are compared in nets without Dropout.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.models import MODELS
from benchmarks.results import RESULTS, tell, title
from benchmarks.step_peers import Task, gflop_of, graph_of, peers
from benchmarks.step_profile import profile

KINDS = ["ours", "torch", "channels_last", "compiled", "caffe"]
_COMPARED = 3  # losses
_TOLERANCE = 2e-3  # relative; sums are added in other orders


@dataclass(frozen=True)
class Result:
    """What was measured of one net."""

    net: str
    times: dict[str, list[float]]  # seconds, by peer
    memory: dict[str, float]  # MB
    gflop: float
    peak: float  # GFLOP/s

    def milliseconds(self, kind: str) -> str:
        """Median and minimum."""
        times = [1e3 * t for t in self.times[kind]]
        return f"{statistics.median(times):.1f} / {min(times):.1f}"

    def ratio(self, of: str) -> str:
        """How many times faster ours is, by medians and by minima."""
        mine, theirs = self.times["ours"], self.times[of]
        medians = statistics.median(theirs) / statistics.median(mine)
        return f"{medians:.2f} / {min(theirs) / min(mine):.2f}"

    def row(self) -> str:
        """A line of the table."""
        best = self.gflop / min(self.times["ours"])
        usual = self.gflop / statistics.median(self.times["ours"])
        others = [kind for kind in KINDS[1:] if kind in self.times]
        cells = [
            self.net,
            self.milliseconds("ours"),
            *(self.milliseconds(kind) for kind in others),
            *(self.ratio(kind) for kind in others),
            f"{100 * usual / self.peak:.0f} / {100 * best / self.peak:.0f} %",
            " / ".join(f"{self.memory[kind]:.0f}" for kind in ("ours", *others)),
        ]
        return "| " + " | ".join(cells) + " |"


def measure(task: Task, kinds: list[str], steps: int, turns: int) -> Result:
    """Run one net on all peers in turn."""
    with peers(kinds, task) as found:
        losses = {k: p.ask("losses", _COMPARED) for k, p in found.items()}
        compare(task.net, losses, _not_compared(task))
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        peaks = []
        for peer in found.values():
            peer.ask("times", 2)  # warm up
        for turn in range(turns):
            share = steps // turns + (turn < steps % turns)
            for kind, peer in found.items():
                times[kind] += peer.ask("times", share)
            peaks.append(found["ours"].ask("peak"))
        memory = {kind: peer.ask("memory") for kind, peer in found.items()}
    return Result(task.net, times, memory, gflop_of(task), max(peaks))


def compare(
    net: str, losses: dict[str, list[float]], without: Sequence[str] = ()
) -> None:
    """Stop where a peer computes something else; those in `without` are only told."""
    for kind, found in losses.items():
        for ours, theirs in zip(losses["ours"], found, strict=True):
            near = abs(ours - theirs) <= _TOLERANCE * abs(ours)
            if not near and kind not in without:
                sys.exit(f"{net}: losses differ: {losses}")
        print(f"{net}: losses of {kind}: {', '.join(f'{x:.6f}' for x in found)}")


def _not_compared(task: Task) -> list[str]:
    """Peers whose dropout masks can't be ours."""
    drops = any(node.type == "Dropout" for node in graph_of(task).nodes)
    return ["caffe"] if drops else []


def header(kinds: list[str]) -> list[str]:
    """The table's head."""
    others = kinds[1:]
    cells = ["net", "ours, ms", *(f"{k}, ms" for k in others)]
    cells += [f"times faster than {k}" for k in others]
    cells += ["of the sgemm peak", "peak MB (" + ", ".join(kinds) + ")"]
    return ["| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]


def main() -> None:
    """Parse options, measure, print, and append to the results on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--net", choices=MODELS, action="append")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--without", choices=KINDS[1:], action="append", default=[])
    parser.add_argument("--caffe", metavar="PYTHON", default="", help="has pycaffe")
    parser.add_argument("--compiled", action="store_true", help="torch.compile too")
    parser.add_argument("--share", action="store_true", default=None)
    parser.add_argument("--profile", action="store_true", help="ours by instruction")
    parser.add_argument("--write", action="store_true", help=f"append to {RESULTS}")
    options = parser.parse_args()
    if options.profile:
        for net in options.net or MODELS:
            corpus = os.environ["GEEPS_CAFFE_CORPUS"]
            task = Task(net, corpus, options.threads, "", options.share)
            print("\n".join([net, *profile(task, options.steps)]))
        return
    left_out = options.without + ["compiled"] * (not options.compiled)
    left_out += ["caffe"] * (not options.caffe)
    kinds = [kind for kind in KINDS if kind not in left_out]
    lines = title("A training step beside its peers", "Median / minimum of steps")
    lines += header(kinds)
    for net in options.net or MODELS:
        with tempfile.NamedTemporaryFile(suffix=".npz") as weights:
            task = Task(
                net,
                os.environ["GEEPS_CAFFE_CORPUS"],
                options.threads,
                weights.name,
                options.share,
                options.caffe,
            )
            result = measure(task, kinds, options.steps, options.turns)
        lines.append(result.row())
        print(lines[-1], flush=True)
    tell(lines, options.write)


if __name__ == "__main__":
    main()
