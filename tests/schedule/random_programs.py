"""Random programs: what any net, engine or user's recording could ask of a plan."""

import random

from hypothesis import strategies as st

from geeps_caffe.engines.engine import Layout
from geeps_caffe.schedule.instructions import Compute
from geeps_caffe.schedule.program import Options, Program


@st.composite
def programs(draw, most=40):
    """Valid programs of up to `most` instructions; sizes are odd numbers of bytes."""
    chance = random.Random(draw(st.integers(0, 10**9)))
    length = draw(st.integers(1, most))
    kind = draw(st.sampled_from(["any", "there and back"]))
    persistent = draw(st.integers(0, 3))
    return make_program(chance, length, kind, persistent)


def make_program(chance, length, kind="any", persistent=1):
    """A program with `persistent` inputs that last from step to step."""
    program = Program(Options())
    for i in range(persistent):
        name = _array(program, chance, f"input{i}")
        program.persistent.add(name)
    if kind == "any":
        _anything(program, chance, length)
    else:
        _there_and_back(program, chance, length)
    names = [a.name for a in program.arrays.values() if _readable(program, a.name)]
    keep = chance.sample(names, min(len(names), chance.randint(0, 2)))
    program.options = Options(keep=frozenset(keep))
    program.data = {name: name for name in keep}
    return program


def _anything(program, chance, length):
    for i in range(length):
        known = [n for n in program.arrays if _readable(program, n)]
        reads = chance.sample(known, min(len(known), chance.randint(0, 3)))
        _compute(program, chance, i, reads)


def _there_and_back(program, chance, length):
    """As in training: what forward writes, backward reads in reverse order."""
    tops, diff = list(program.arrays)[:1], []
    for i in range((length + 1) // 2):
        tops.append(_compute(program, chance, i, tops[-1:]))
    for i in range(len(tops) // 2):
        read = [n for n in (tops[-1 - i], *diff) if _readable(program, n)]
        diff = [_compute(program, chance, f"b{i}", read)]


def _compute(program, chance, index, reads):
    """An instruction with one or two tops; at times the first is in place."""
    place = None
    if reads and reads[0] not in program.persistent and chance.random() < 0.2:
        place = program.arrays[reads[0]]
    names = [_array(program, chance, f"a{index}", place)]
    if chance.random() < 0.3:
        names.append(_array(program, chance, f"a{index}.extra"))
    ports = [(f"bottom{i}", n) for i, n in enumerate(reads)]
    ports += [(f"top{i}", n) for i, n in enumerate(names)]
    program.emit(Compute("forward", 0, f"layer{index}", tuple(ports)))
    return names[0]


def _array(program, chance, name, place=None):
    if place is not None:
        return program.add(name, (), place.layout, storage=place.storage)
    nbytes = int(2 ** chance.uniform(0, 14))
    return program.add(name, (nbytes,), Layout("plain", nbytes), dtype="uint8")


def _readable(program, name):
    """Whether an array still holds its own values: nothing was written over it."""
    storage = program.arrays[name].storage
    return [a.name for a in program.arrays.values() if a.storage == storage][-1] == name
