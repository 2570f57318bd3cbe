"""What nobody reads is not computed: gradients, reorders and sums.

    backward data  (its only result is a gradient that no instruction reads)  ->

Layers' own code stays where it is, since it may do more than write its tops.
"""

from geeps_caffe.engines.engine import Engine
from geeps_caffe.schedule.instructions import Accumulate, Compute, Fill, Reorder
from geeps_caffe.schedule.passes.edit import edited
from geeps_caffe.schedule.program import Program


def drop_unread(program: Program, engine: Engine) -> Program:
    """The program without instructions that change nothing that is asked for."""
    del engine
    kept = (program.data[v] for v in program.options.keep if v in program.data)
    wanted = {program.arrays[name].storage for name in kept} | program.persistent
    gone = set()
    for position in reversed(range(len(program.instructions))):
        instruction = program.instructions[position]
        targets = {program.arrays[name] for name in instruction.writes}
        lasts = any(a.home != "arena" or a.storage in wanted for a in targets)
        pure = isinstance(instruction, Reorder | Accumulate | Fill) or (
            isinstance(instruction, Compute) and instruction.request is not None
        )
        if pure and not lasts:
            gone.add(position)
        else:
            wanted |= {program.arrays[name].storage for name in instruction.reads}
    return edited(program, {}, gone)
