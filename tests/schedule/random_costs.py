"""Random costs for random programs: of computing and of copies, in arbitrary units."""

import random

from hypothesis import strategies as st

from geeps_caffe.schedule.costs import Costs


@st.composite
def cost_models(draw):
    """A function from a program to its costs; copies are slow, fast, or not beside."""
    seed = draw(st.integers(0, 10**9))
    speed = draw(st.sampled_from([300.0, 3000.0, 30000.0]))
    overlap = draw(st.booleans())
    return lambda program: random_costs(program, seed, speed, overlap)


def random_costs(program, seed, speed=3000.0, overlap=True):
    chance = random.Random(seed)
    seconds = tuple(chance.uniform(0.1, 3) for _ in program.instructions)
    return Costs(seconds, speed, speed * chance.uniform(0.5, 1.5), 0.01, overlap)
