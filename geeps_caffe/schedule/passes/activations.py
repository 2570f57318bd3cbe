"""An activation becomes the last step of the operation whose top it takes.

    forward conv1, forward relu1  ->  forward conv1 and relu1

Backward stays as it is: that of the activation reads its own top alone.
"""

from collections import Counter
from dataclasses import replace

from geeps_caffe.engines.engine import Engine, Request
from geeps_caffe.engines.operations import (
    Activated,
    Activation,
    Convolution,
    Deconvolution,
    InnerProduct,
    Sum,
)
from geeps_caffe.schedule.instructions import Compute, Instruction
from geeps_caffe.schedule.passes.edit import edited
from geeps_caffe.schedule.program import Program

_FIRST = Convolution | Deconvolution | InnerProduct | Sum


def fuse_activations(program: Program, engine: Engine) -> Program:
    """The program with every such pair fused, where the engine can do that."""
    reads = Counter(name for i in program.instructions for name in i.reads)
    kept = {program.data[v] for v in program.options.keep if v in program.data}
    makers: dict[str, int] = {}  # array -> position of the pass that makes it
    new: dict[int, Instruction] = {}
    gone: set[int] = set()
    for position, second in enumerate(program.instructions):
        if not isinstance(second, Compute) or second.direction != "forward":
            continue
        bottom = dict(second.ports).get("bottom0", "")
        if bottom in makers and reads[bottom] == 1 and bottom not in kept:
            first = program.instructions[makers[bottom]]
            assert isinstance(first, Compute)
            fused = _fused(program, engine, first, second)
            if fused is not None:
                new[makers[bottom]] = fused
                gone.add(position)
        if second.request and isinstance(second.request.operation, _FIRST):
            makers[dict(second.ports)["top0"]] = position
    return edited(program, new, gone)


def _fused(
    program: Program, engine: Engine, first: Compute, second: Compute
) -> Compute | None:
    """Both as one; None where they can't be."""
    request = _request(program, first, second)
    if request is None:
        return None
    description = engine.describe(request)
    if description is None or dict(description.layouts) != dict(request.given):
        return None
    (top,) = (name for port, name in second.ports if port == "top0")
    ports = tuple((p, top if p == "top0" else name) for p, name in first.ports)
    scratch = first.scratch
    if description.scratch:
        size = program.arrays[scratch].layout.nbytes if scratch else 0
        if description.scratch > size:
            return None
    else:
        scratch = None
    return replace(
        first,
        name=f"{first.name} and {second.name}",
        ports=ports,
        request=request,
        description=description,
        scratch=scratch,
    )


def _request(program: Program, first: Compute, second: Compute) -> Request | None:
    """Both as an engine is asked for them; every array lies as it does already."""
    if first.request is None or second.request is None:
        return None
    activation, own = second.request.operation, dict(second.ports)
    if not isinstance(activation, Activation) or "saved0" in own:
        return None
    arrays = program.arrays
    if arrays[own["top0"]].layout != arrays[own["bottom0"]].layout:
        return None
    given = {port: arrays[name].layout for port, name in first.ports}
    return replace(
        first.request,
        operation=Activated(first.request.operation, activation),
        given=given,
        training=False,
    )
