"""plan: what a step does, where its arrays lie, and how much memory it takes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import prototxt
from geeps_caffe.commands.caffe_flags import read_line, run_settings, stages_of
from geeps_caffe.commands.planning import (
    plan_of,
    read_model,
    unbound_net,
    with_budget,
)
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.units import parse_amount
from geeps_caffe.errors import EXIT_BUG, UsageError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import test_nets, training_net
from geeps_caffe.graph.filter import NetState
from geeps_caffe.schedule.check import find_faults
from geeps_caffe.schedule.show import show_plan

Titled: TypeAlias = tuple[str, RunSettings, PlannedNet]


def main(argv: list[str]) -> int:
    """Print the plans of a solver's nets, or of one model; returns 70 if one is bad."""
    line = read_line(argv, "plan")
    if bool(line.text("solver")) == bool(line.text("model")):
        raise UsageError("plan: give either -solver FILE or -model FILE")
    nets = _solver_nets(line) if line.text("solver") else _model(line)
    faults = 0
    for title, settings, net in nets:
        plan = plan_of(net, settings)
        found = find_faults(plan)
        print(f"{title}\n")
        print(show_plan(plan, net.graph, found[0].position if found else None))
        for fault in found:
            print(f"FAULT: {fault.sentence}")
        faults += len(found)
    return EXIT_BUG if faults else 0


def _solver_nets(line: CommandLine) -> Iterator[Titled]:
    path = line.text("solver")
    solver = prototxt.read_solver(path).message
    solver.train_state.level = line.integer("level")
    solver.train_state.stage.extend(stages_of(line))
    ranks = line.integer("workers")
    settings = run_settings(line, 0, ranks)
    settings = with_budget(solver, path, settings, line.text("memory"))
    named = training_net(solver, path, NetState())
    bodies = solver.iter_size
    with unbound_net(named, settings, trains=True, bodies=bodies) as net:
        yield f"Training net {net.graph.name!r} of {path}", settings, net
    for index, named in enumerate(test_nets(solver, path)):
        with unbound_net(named, settings) as net:
            yield f"Test net #{index} of {path}", settings, net


def _model(line: CommandLine) -> Iterator[Titled]:
    phase = line.text("phase") or "TRAIN"
    if phase not in ("TRAIN", "TEST"):
        raise UsageError(f'plan: -phase is {phase!r}; it must be "TRAIN" or "TEST"')
    path, settings = line.text("model"), run_settings(line)
    _, _, named = read_model(path, phase, line.integer("level"), stages_of(line))
    with unbound_net(named, settings, backward=phase == "TRAIN") as net:
        yield f"{phase} net {net.graph.name!r} of {path}", _limited(line, net), net


def _limited(line: CommandLine, net: PlannedNet) -> RunSettings:
    settings = run_settings(line)
    if not line.text("memory"):
        return settings
    whole = plan_of(net, settings).arena_bytes
    return replace(settings, memory=parse_amount(line.text("memory")).of(whole))
