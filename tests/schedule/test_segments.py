"""Segments have every instruction once, and put nothing behind what it works on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.schedule.hand_overs import plan_steps
from geeps_caffe.schedule.instructions import SwapIn, SwapOut, Table
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
        entries = [plan.instructions[i] for i in part.captured]
        computing = [e for e in entries if not isinstance(e, SwapIn | SwapOut)]
        assert all(is_fixed(entry) for entry in computing)
        assert not entries or len(computing) >= LEAST
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
@given(programs(), st.sampled_from([None, 1.0, 1.2]))
def test_any_program_is_cut_rightly(program, factor):
    """Copies are all captured, or all left out."""
    whole = make_plan(program, share=True)
    budget = None if factor is None else int(whole.least_bytes * factor)
    plan = make_plan(program, budget)
    segments = find_segments(plan)
    check(plan, segments)
    captured = {i for part in segments for i in part.captured}
    copies = [isinstance(e, SwapIn | SwapOut) for e in plan.instructions]
    assert len({i in captured for i, copy in enumerate(copies) if copy}) < 2


def lenet_plan(**options):
    return make_plan(program_of(graph_of(LENET), **options))


def test_a_pass_over_tables_on_the_device_is_a_few_graphs():
    """LeNet's forward up to its loss, and its backward from there on."""
    plan = lenet_plan()
    segments = find_segments(plan)
    check(plan, segments)
    captured = [part for part in segments if part.captured]
    assert len(captured) == 2
    alone = [i for part in segments if not part.captured for i in part.after]
    fixed = [i for i in alone if is_fixed(plan.instructions[i])]
    assert len(fixed) < LEAST, "between the loss's forward and its backward"


@pytest.mark.parametrize("cache", ["swapped", "pinned"])
def test_tables_on_the_host_cut_segments_and_copies_stay_outside(cache):
    plan = lenet_plan(param_cache=ParamCache(cache))
    segments = find_segments(plan)
    check(plan, segments)
    for part in segments:
        kinds = {type(plan.instructions[i]) for i in part.captured}
        assert not kinds & {SwapIn, SwapOut, Table}
        assert len(part.after) <= 1
