"""simulate: how fast a step would run on a device, by its costs, with less memory."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.line_settings import memory_of, stages_of
from geeps_caffe.commands.planning import (
    flagged_solver,
    planned_settings,
    read_model,
    solver_nets,
    staged_bytes,
    unbound_net,
)
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.units import parse_amount, show_bytes
from geeps_caffe.errors import BudgetError, UsageError
from geeps_caffe.execution.job_budget import refusal
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.plans import Planning, plan_net
from geeps_caffe.execution.surroundings import GPU
from geeps_caffe.graph.remarks import log_remarks
from geeps_caffe.schedule.costs import Costs, Device, estimate, find_device
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
    name = line.text("costs") or DEVICE
    device = find_device(name)
    nets = _solver_net if line.text("solver") else _model
    for title, net in nets(line, device):
        log_remarks(net.graph)
        print(f"{title}\n")
        print("\n".join(_Report(line, net, name, device).lines()))
    return 0


def _on(device: Device, settings: RunSettings, line: CommandLine) -> RunSettings:
    """The settings of a run on the device, which flags may contradict."""
    if line.text("engine") or settings.dtype != "float32" or not device.overlap:
        return settings
    return replace(settings, engine=GPU)


def _solver_net(line: CommandLine, device: Device) -> Iterator[tuple[str, PlannedNet]]:
    """The net that is trained."""
    solver, path = flagged_solver(line), line.text("solver")
    settings = _on(device, planned_settings(line, solver), line)
    yield from islice(solver_nets(solver, path, settings), 1)


def _model(line: CommandLine, device: Device) -> Iterator[tuple[str, PlannedNet]]:
    phase, path = line.text("phase") or "TRAIN", line.text("model")
    settings = _on(device, planned_settings(line), line)
    _, named = read_model(
        path, phase, line.integer("level"), stages_of(line), settings.made_up
    )
    with unbound_net(named, settings, backward=phase == "TRAIN") as net:
        yield f"{phase} net {net.graph.name!r} of {path}", net


class _Report:
    """One net on one device; its bytes are with the pictures that wait on a GPU."""

    def __init__(
        self, line: CommandLine, net: PlannedNet, name: str, device: Device
    ) -> None:
        self._name, self._device, self._net = name, device, net
        self._recompute = line.switch("recompute")
        self._memory, self._budget = memory_of(line), 0
        self._staged = staged_bytes(net)

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
        plan = self._plan(None)
        whole = plan.arena_bytes + self._staged
        least = least_of(self._net.program) + self._staged
        if self._memory:
            all_bytes = plan.total_bytes + self._staged
            self._budget = parse_amount(self._memory).of(all_bytes)
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
        """The plan within a budget, of which the pictures take their part.

        Raises:
            BudgetError: it is too small; it tells the least one.
        """
        net, costs = self._net, self._costs
        arena = None if budget is None else budget - self._staged
        try:
            planning = Planning(arena, True, costs, self._recompute)
            return plan_net(net.program, net.graph, planning)
        except BudgetError as error:
            raise refusal(error, [], self._staged) from error

    def _replay(self, plan: Plan) -> Simulation:
        return simulate(plan, self._costs(plan.program))

    def _costs(self, program: Program) -> Costs:
        return estimate(program, self._device)
