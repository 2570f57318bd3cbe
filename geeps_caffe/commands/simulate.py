"""simulate: how fast a step would run on a device, by its costs, with less memory."""

from collections.abc import Iterator

import prototxt
from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.line_settings import memory_of, run_settings, stages_of
from geeps_caffe.commands.planning import read_model, unbound_net
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.units import parse_amount, show_bytes
from geeps_caffe.errors import UsageError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import (
    check_records,
    test_nets,
    training_net,
    without_data,
)
from geeps_caffe.execution.plans import Planning, plan_net
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.remarks import log_remarks
from geeps_caffe.schedule.costs import Costs, estimate, find_device
from geeps_caffe.schedule.plan import Plan, least_of
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.simulate import Simulation, simulate

DEVICE = "h200"  # where -costs names none
SHARES = (1.0, 0.75, 0.5, 0.35)  # of the memory with which nothing is swapped
_SHOWN = 5  # stalls


def main(argv: list[str]) -> int:
    """Print step times against memory for a solver's training net, or a model."""
    line = read_line(argv, "simulate")
    if bool(line.text("solver")) == bool(line.text("model")):
        raise UsageError("give either -solver FILE or -model FILE")
    for title, net in _solver_net(line) if line.text("solver") else _model(line):
        log_remarks(net.graph)
        print(f"{title}\n")
        print("\n".join(_Report(line, net).lines()))
    return 0


def _settings(line: CommandLine) -> RunSettings:
    return run_settings(line, 0, line.integer("workers"))


def _solver_net(line: CommandLine) -> Iterator[tuple[str, PlannedNet]]:
    path = line.text("solver")
    solver = prototxt.read_solver(path).message
    solver.train_state.level = line.integer("level")
    solver.train_state.stage.extend(stages_of(line))
    settings, bodies = _settings(line), solver.iter_size
    bare = training_net(solver, path, NetState())
    check_records(settings.made_up, (bare, *test_nets(solver, path)))
    named = without_data(bare, settings.made_up)
    with unbound_net(named, settings, trains=True, bodies=bodies) as net:
        yield f"Training net {net.graph.name!r} of {path}", net


def _model(line: CommandLine) -> Iterator[tuple[str, PlannedNet]]:
    phase, path = line.text("phase") or "TRAIN", line.text("model")
    settings = _settings(line)
    _, named = read_model(
        path, phase, line.integer("level"), stages_of(line), settings.made_up
    )
    with unbound_net(named, settings, backward=phase == "TRAIN") as net:
        yield f"{phase} net {net.graph.name!r} of {path}", net


def _budget(memory: str, total: int) -> int:
    """Bytes that -memory names, a share being one of all arrays side by side."""
    return parse_amount(memory).of(total) if memory else 0


class _Report:
    """One net on one device."""

    def __init__(self, line: CommandLine, net: PlannedNet) -> None:
        self._name = line.text("costs") or DEVICE
        self._device, self._net = find_device(self._name), net
        self._recompute = line.switch("recompute")
        self._settings = _settings(line)
        self._memory, self._budget = memory_of(line), 0

    def lines(self) -> Iterator[str]:
        """The whole text."""
        device = self._device
        yield f"device                {device.title} ({self._name})"
        yield (
            f"                      {device.flops / 1e12:.3g} TFLOP/s, memory "
            f"{show_bytes(int(device.memory))}/s, copies in "
            f"{show_bytes(int(device.copy_in))}/s, out "
            f"{show_bytes(int(device.copy_out))}/s"
        )
        plan, least = self._plan(None), least_of(self._net.program)
        whole = plan.arena_bytes
        self._budget = _budget(self._memory, plan.total_bytes)
        yield f"memory without swaps  {whole:>15,} bytes"
        yield f"least memory          {least:>15,} bytes"
        yield ""
        yield from self._table(whole, least)
        if self._budget:
            yield from self._detail(self._budget)

    def _table(self, whole: int, least: int) -> Iterator[str]:
        yield "  memory, bytes  share  ms a step  speed     moved"
        full = self._replay(self._plan(whole)).seconds
        budgets = {max(int(whole * share), least) for share in SHARES} | {least}
        if self._budget:
            budgets.add(self._budget)
        for budget in sorted(budgets, reverse=True):
            found = self._replay(self._plan(budget))
            yield (
                f"{budget:>15,} {budget / whole:>6.0%} {found.seconds * 1e3:>10.2f} "
                f"{full / found.seconds:>6.1%} {show_bytes(found.moved):>9}"
            )
        yield ""

    def _detail(self, budget: int) -> Iterator[str]:
        """Queues and stalls within one budget."""
        plan = self._plan(budget)
        found = self._replay(plan)
        yield f"within {budget:,} bytes"
        for queue, seconds in found.busy.items():
            if seconds:
                share = seconds / found.seconds
                yield f"  {queue:<9} {seconds * 1e3:>9.2f} ms busy ({share:.0%})"
        stalled = sum(stall.seconds for stall in found.stalls)
        yield f"  stalled   {stalled * 1e3:>9.2f} ms"
        for stall in found.stalls[:_SHOWN]:
            waits = plan.instructions[stall.position].text
            cause = plan.instructions[stall.cause].text
            yield f"    {stall.seconds * 1e3:>7.2f} ms: {waits} waits for {cause}"
        yield ""

    def _plan(self, budget: int | None) -> Plan:
        planning = Planning(budget, True, self._costs, self._recompute)
        return plan_net(self._net.program, self._net.graph, planning)

    def _replay(self, plan: Plan) -> Simulation:
        return simulate(plan, self._costs(plan.program))

    def _costs(self, program: Program) -> Costs:
        return estimate(program, self._device)
