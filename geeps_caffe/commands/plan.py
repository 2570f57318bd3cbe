"""plan: what a step does, where its arrays lie, and how much memory it takes."""

from collections.abc import Iterator
from typing import TypeAlias

import prototxt
from geeps_caffe.commands.advice import batch_line, memory_lines
from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.footprint import Footprint
from geeps_caffe.commands.line_settings import memory_of, stages_of
from geeps_caffe.commands.planning import (
    flagged_solver,
    plan_of,
    planned_settings,
    read_model,
    solver_nets,
    unbound_net,
    with_budget,
)
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import EXIT_BUG, BudgetError, UsageError
from geeps_caffe.execution.job_budget import refusal
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import NamedNet, training_net, without_data
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.remarks import log_remarks
from geeps_caffe.schedule.check import find_faults
from geeps_caffe.schedule.plan import Plan
from geeps_caffe.schedule.show import show_plan
from geeps_caffe.solvers import find_rule

#: Title, settings, the compiled net, and what it was made of if it is the one trained.
Titled: TypeAlias = tuple[str, RunSettings, PlannedNet, NamedNet | None]


def main(argv: list[str]) -> int:
    """Print the plans of a solver's nets, or of one model; returns 70 if one is bad."""
    line = read_line(argv, "plan")
    if bool(line.text("solver")) == bool(line.text("model")):
        raise UsageError("give either -solver FILE or -model FILE")
    nets = _solver_nets(line) if line.text("solver") else _model(line)
    faults = 0
    plans: list[Plan] = []
    footprint = Footprint(_slots(line), bool(memory_of(line)))
    for title, settings, net, named in nets:
        log_remarks(net.graph)
        try:
            plan = plan_of(net, settings)
        except BudgetError as error:
            raise refusal(error, _all(line), settings.staged) from error
        found = find_faults(plan)
        print(f"{title}\n")
        print(show_plan(plan, net.graph, found[0].position if found else None))
        for fault in found:
            print(f"FAULT: {fault.sentence}")
        print("\n".join(_advice(settings, net, named)) + "\n")
        faults += len(found)
        plans.append(plan)
        footprint.add(net, plan)
    if len(plans) > 1:
        print(_job(plans, footprint.staged, bool(memory_of(line))))
    print("\n".join(footprint.lines()))
    return EXIT_BUG if faults else 0


def _all(line: CommandLine) -> Iterator[PlannedNet]:
    """The nets of a solver; none of a model, which is alone."""
    path = line.text("solver")
    if path:
        solver = flagged_solver(line)
        for _, net in solver_nets(solver, path, planned_settings(line, solver)):
            yield net


def _slots(line: CommandLine) -> int:
    """Arrays of history for each param that is learned."""
    path = line.text("solver")
    if not path:
        return 0
    return len(find_rule(prototxt.read_solver(path).message.type).slots)


def _advice(
    settings: RunSettings, net: PlannedNet, named: NamedNet | None
) -> Iterator[str]:
    yield from memory_lines(net, settings)
    if settings.memory is not None and named is not None:
        yield batch_line(net, named, settings)


def _job(plans: list[Plan], staged: int, limited: bool) -> str:
    """What all nets of a solver take together; `staged` as of `Footprint`."""
    sizes = [plan.arena_bytes for plan in plans]
    least = max(plan.least_bytes for plan in plans) + staged
    if limited:
        return f"The job: its nets take turns in one arena of {max(sizes):,} bytes\n"
    return (
        f"The job: {sum(sizes):,} bytes, an arena for each net; -memory makes the nets "
        f"take turns in one, of {least:,} bytes at least\n"
    )


def _solver_nets(line: CommandLine) -> Iterator[Titled]:
    path, solver = line.text("solver"), flagged_solver(line)
    settings = planned_settings(line, solver)
    settings = with_budget(_all(line), settings, memory_of(line))
    bare = training_net(solver, path, NetState())
    named: NamedNet | None = without_data(bare, settings.made_up)
    for title, net in solver_nets(solver, path, settings):
        yield title, settings, net, named
        named = None  # the others are tests


def _model(line: CommandLine) -> Iterator[Titled]:
    phase = line.text("phase") or "TRAIN"
    if phase not in ("TRAIN", "TEST"):
        raise UsageError(f'-phase is {phase!r}; it must be "TRAIN" or "TEST"')
    path, settings = line.text("model"), planned_settings(line)
    _, named = read_model(
        path, phase, line.integer("level"), stages_of(line), settings.made_up
    )
    with unbound_net(named, settings, backward=phase == "TRAIN") as net:
        title = f"{phase} net {net.graph.name!r} of {path}"
        yield title, with_budget([net], settings, memory_of(line)), net, named
