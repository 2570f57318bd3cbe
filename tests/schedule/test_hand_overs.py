"""Plans run in any order that queues and events allow give what they give in turn."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.schedule.costs import DEVICES, estimate
from geeps_caffe.schedule.hand_overs import hand_overs, plan_steps
from geeps_caffe.schedule.instructions import SwapIn, SwapOut, Table
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.search import cost_aware
from tests.schedule.nets import LENET, TINY, graph_of, program_of
from tests.schedule.random_costs import cost_models
from tests.schedule.random_programs import programs

STEPS = 3


def in_some_order(plan, seed):
    """Positions of some steps in an order that queues and hand-overs allow."""
    chance, waits = random.Random(seed), hand_overs(plan)
    length = len(plan.instructions)
    queues = {}
    for number in range(STEPS * length):
        queue = plan.instructions[number % length].queue
        queues.setdefault(queue, []).append(number)
    done = set()
    while any(queues.values()):
        ready = [
            q for q in queues.values() if q and is_ready(q[0], waits, length, done)
        ]
        assert ready, "no queue can go on"
        number = chance.choice(ready).pop(0)
        done.add(number)
        yield number % length


def is_ready(number, waits, length, done):
    """A later instruction of the list stands for that of the step before."""
    position = number % length
    for wait in waits.get(position, ()):
        before = number - position + wait - (length if wait >= position else 0)
        if before >= 0 and before not in done:
            return False
    return True


def seen_by(plan, order):
    """What each instruction reads, by position and step, on bytes."""
    steps = plan_steps(plan)
    memory = {"arena": np.zeros(plan.arena_bytes, np.int64)}
    seen, counts = {}, {}

    def block(span):
        if span.memory not in memory:
            memory[span.memory] = np.zeros(1 << 20, np.int64)
        return memory[span.memory][span.start : span.stop]

    for position in order:
        step, entry = steps[position], plan.instructions[position]
        count = counts[position] = counts.get(position, 0) + 1
        mark = position * STEPS + count
        if isinstance(entry, SwapIn | SwapOut):
            block(step.writes[0])[...] = block(step.reads[0])
            for span in step.writes[1:]:
                block(span)[...] = -1
            continue
        seen[position, count] = [block(span).tobytes() for span in step.reads]
        for span in step.writes:
            block(span)[...] = mark
    return seen


def in_turn(plan):
    return [*range(len(plan.instructions))] * STEPS


@settings(max_examples=60, deadline=None)
@given(programs(most=20), cost_models(), st.integers(0, 999))
def test_any_allowed_order_reads_what_the_plans_order_reads(program, model, seed):
    least = make_plan(program, share=True).least_bytes
    plan = make_plan(program, int(least * 1.2), planner=cost_aware(model))
    assert seen_by(plan, in_some_order(plan, seed)) == seen_by(plan, in_turn(plan))


@pytest.mark.parametrize("factor", [1.0, 1.3])
@pytest.mark.parametrize("text", [TINY, LENET])
def test_params_pass_through_the_arena_in_any_allowed_order(text, factor):
    program = program_of(graph_of(text), param_cache=ParamCache())
    least = make_plan(program, share=True).least_bytes
    planner = cost_aware(lambda p: estimate(p, DEVICES["k20c"]))
    plan = make_plan(program, int(least * factor), planner=planner)
    assert any(isinstance(entry, SwapIn) for entry in plan.instructions)
    expected = seen_by(plan, in_turn(plan))
    for seed in range(10):
        assert seen_by(plan, in_some_order(plan, seed)) == expected


def test_an_update_waits_for_the_copy_of_its_gradients():
    program = program_of(graph_of(TINY), param_cache=ParamCache())
    plan = make_plan(program, share=True)
    update = next(
        i
        for i, entry in enumerate(plan.instructions)
        if isinstance(entry, Table) and entry.call == "update"
    )
    waits = [plan.instructions[w].text for w in hand_overs(plan)[update]]
    assert waits == ["swap out ip/1.diff"]  # the last of the queue's
