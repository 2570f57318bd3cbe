"""Segments have every instruction once, and put nothing behind what it works on."""

import pytest
from hypothesis import given, settings

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.schedule.hand_overs import plan_steps
from geeps_caffe.schedule.instructions import (
    Clock,
    Compute,
    Load,
    SwapIn,
    SwapOut,
    Table,
)
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.segments import LEAST, find_segments, is_fixed
from tests.schedule.nets import LENET, graph_of, program_of
from tests.schedule.random_programs import programs


def check(plan, segments):
    """Each once; what is captured is fixed; whatever changes places is independent."""
    order = [i for part in segments for i in (*part.captured, *part.after)]
    assert sorted(order) == list(range(len(plan.instructions)))
    steps = plan_steps(plan)
    for part in segments:
        assert not part.captured or len(part.captured) >= LEAST
        assert all(is_fixed(plan, plan.instructions[i]) for i in part.captured)
        assert list(part.captured) == sorted(part.captured)
        assert list(part.after) == sorted(part.after)
        for late in part.after:
            for i in part.captured:
                if i > late and is_handed_in(plan, late):
                    assert not spans(steps[i]) & spans(steps[late])
    others = [i for part in segments for i in part.after]
    assert others == sorted(others), "calls of the server keep their order"


def is_handed_in(plan, position):
    entry = plan.instructions[position]
    return isinstance(entry, Table) and entry.call == "update"


def spans(step):
    return {span.memory for span in (*step.reads, *step.writes)} - {"arena"}


@settings(max_examples=300, deadline=None)
@given(programs())
def test_any_program_is_cut_rightly(program):
    plan = make_plan(program)
    check(plan, find_segments(plan))


def lenet_plan(**options):
    return make_plan(program_of(graph_of(LENET), **options))


def test_a_pass_over_tables_on_the_device_is_a_few_graphs():
    """LeNet's forward up to its loss, and its backward from there on."""
    plan = lenet_plan()
    segments = find_segments(plan)
    check(plan, segments)
    captured = [part for part in segments if part.captured]
    assert len(captured) == 2
    alone = [
        plan.instructions[i]
        for part in segments
        for i in part.after
        if not isinstance(plan.instructions[i], Table | Clock | Load)
    ]
    assert all(isinstance(entry, Compute) and not entry.description for entry in alone)


@pytest.mark.parametrize("cache", ["swapped", "pinned"])
def test_tables_on_the_host_cut_segments_and_copies_stay_outside(cache):
    plan = lenet_plan(param_cache=ParamCache(cache))
    segments = find_segments(plan)
    check(plan, segments)
    for part in segments:
        kinds = {type(plan.instructions[i]) for i in part.captured}
        assert not kinds & {SwapIn, SwapOut, Table}
        assert len(part.after) <= 1
