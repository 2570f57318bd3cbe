"""time: how long each layer takes, as `caffe time`."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from geeps_caffe.commands.caffe_flags import read_line, require
from geeps_caffe.commands.given_files import check_weights
from geeps_caffe.commands.gpus import choose_device
from geeps_caffe.commands.line_settings import run_settings, stages_of
from geeps_caffe.commands.planning import read_model, unbound_net
from geeps_caffe.commands.session import Session, open_session
from geeps_caffe.config.file_list import files_in
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.errors import UsageError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.weights import copy_weights, fill_params
from geeps_caffe.graph.remarks import log_remarks
from geeps_caffe.log_lines import ignoring, number, upgrade_lines
from geeps_caffe.net_lines import net_lines
from geeps_caffe.schedule.instructions import Instruction


def main(argv: list[str]) -> int:
    """Measure forward and backward passes."""
    line = read_line(argv, "time")
    require(line, "model", "Need a model definition to time.")
    phase = line.text("phase") or "TRAIN"
    if phase not in ("TRAIN", "TEST"):
        raise UsageError(f'-phase is {phase!r}; it must be "TRAIN" or "TEST"')
    if line.integer("iterations") < 1:
        raise UsageError(f"-iterations is {line.integer('iterations')}; give 1 up")
    weights = files_in(line.text("weights"))
    for name in weights:
        check_weights(name)
    with open_session(line) as session:
        gpus = choose_device(session, line, "caffe.cpp:343")
        _measure(session, line, phase, weights, gpus)
    return 0


def _measure(
    session: Session,
    line: CommandLine,
    phase: str,
    weights: list[str],
    gpus: Sequence[int],
) -> None:
    settings = run_settings(line, gpus=gpus)
    state, named = read_model(
        line.text("model"),
        phase,
        line.integer("level"),
        stages_of(line),
        settings.made_up,
    )
    session.tell(upgrade_lines(named.notes))
    for warning in named.warnings:
        session.warn(warning)
    with unbound_net(named, settings, backward=True) as net:
        session.tell(net_lines(named.source.message, state, net.graph))
        log_remarks(net.graph)
        fill_params(net, net.seed)
        for name in weights:
            session.tell(ignoring(copy_weights(net, name)))
        stopwatch = Stopwatch(net)
        session.say("caffe.cpp:351", "Performing Forward")
        stopwatch.run_once()
        session.say("caffe.cpp:356", f"Initial loss: {number(net.loss())}")
        session.say("caffe.cpp:357", "Performing Backward")
        _benchmark(session, stopwatch, line.integer("iterations"))


def _benchmark(session: Session, stopwatch: "Stopwatch", iterations: int) -> None:
    session.say("caffe.cpp:365", "*** Benchmark begins ***")
    session.say("caffe.cpp:366", f"Testing for {iterations} iterations.")
    stopwatch.reset()
    start = time.perf_counter()
    for iteration in range(iterations):
        before = time.perf_counter()
        stopwatch.run_once()
        took = time.perf_counter() - before
        text = f"Iteration: {iteration + 1} forward-backward time: {_ms(took)} ms."
        session.say("caffe.cpp:394", text)
    total = time.perf_counter() - start
    session.say("caffe.cpp:397", "Average time per layer: ")
    for index, node in enumerate(stopwatch.net.graph.nodes):
        for where, direction in (
            ("caffe.cpp:400", "forward"),
            ("caffe.cpp:403", "backward"),
        ):
            took = stopwatch.seconds[direction][index] / iterations
            session.say(where, f"{node.name:>10}\t{direction}: {_ms(took)} ms.")
    forward, backward = (
        sum(stopwatch.seconds[d].values()) / iterations for d in ("forward", "backward")
    )
    session.say("caffe.cpp:408", f"Average Forward pass: {_ms(forward)} ms.")
    session.say("caffe.cpp:410", f"Average Backward pass: {_ms(backward)} ms.")
    mean = _ms(total / iterations)
    session.say("caffe.cpp:412", f"Average Forward-Backward: {mean} ms.")
    session.say("caffe.cpp:414", f"Total Time: {_ms(total)} ms.")
    session.say("caffe.cpp:415", "*** Benchmark ends ***")


def _ms(seconds: float) -> str:
    return number(seconds * 1000)


@dataclass
class Stopwatch:
    """Runs a net and sums up the time of each layer's instructions.

    Reorders, fills and sums count for the layer that needs them, and waiting for the
    next records, or a Python source's code, for the first source.
    """

    net: PlannedNet
    clock: Callable[[], float] = time.perf_counter
    seconds: dict[str, dict[int, float]] = field(init=False)  # direction, node
    _since: float = field(init=False, default=0.0)
    _owners: list[tuple[int, bool]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the times so far."""
        self.seconds = {"forward": defaultdict(float), "backward": defaultdict(float)}

    def run_once(self) -> None:
        """A forward and a backward pass."""
        self._since = self.clock()
        self.net.follow_sources()
        executor = self.net.executor
        executor.begin(0, np.arange(1, dtype=np.int64))
        self._owners = executor.plan.owners()
        executor.run(lambda *_: True, self._ended)

    def _ended(self, position: int, instruction: Instruction) -> None:
        """Called after each instruction."""
        del instruction
        self.net.executor.device.synchronise()
        now = self.clock()
        node, backward = self._owners[position]
        self.seconds["backward" if backward else "forward"][node] += now - self._since
        self._since = now
