"""Segments have every instruction once, and put nothing behind what it works on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geeps_caffe.config.grouping import Grouping
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.execution.grouping import assign_tables
from geeps_caffe.execution.net import kept_values
from geeps_caffe.schedule.compile import compile_program
from geeps_caffe.schedule.hand_overs import plan_steps
from geeps_caffe.schedule.instructions import SwapIn, SwapOut, Table
from geeps_caffe.schedule.passes import NAMES as PASSES
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options
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
                if i > late:
                    assert not spans(steps[i]) & changed(plan, late)
    others = [i for part in segments for i in part.after]
    assert others == sorted(others), "calls of the server keep their order"


def changed(plan, position):
    """What a call for a table changes: with the last one its update may leave."""
    entry = plan.instructions[position]
    if not isinstance(entry, Table):
        return set()
    calls = [i for i, e in enumerate(plan.instructions) if is_of(e, entry.table)]
    keys = [k for k, table in plan.program.tables.items() if table == entry.table]
    return {*keys, *(f"{key}.diff" for key in keys)} if position == calls[-1] else set()


def is_of(entry, table):
    return isinstance(entry, Table) and entry.table == table


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


#: The first and the last layer have the same params.
TWICE = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 2 dim: 4 } shape { dim: 2 dim: 4 } } }
layer { name: "low" type: "InnerProduct" bottom: "data" top: "low"
  param { name: "w" } param { name: "b" } inner_product_param { num_output: 4 } }
layer { name: "middle" type: "InnerProduct" bottom: "low" top: "middle"
  inner_product_param { num_output: 4 } }
layer { name: "high" type: "InnerProduct" bottom: "middle" top: "high"
  param { name: "w" } param { name: "b" } inner_product_param { num_output: 4 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "high" bottom: "label" top: "loss" }
"""


@pytest.mark.parametrize("layers", [1, 2, 9])
def test_updates_wait_for_all_that_uses_their_tables(layers):
    """Of one layer or several, whose params another layer may share."""
    graph = graph_of(TWICE)
    table_of = assign_tables(graph, Grouping(layers=layers))
    options = Options(keep=kept_values(graph), without=frozenset(PASSES))
    program = compile_program(graph, ReferenceEngine(), options, table_of)
    check(make_plan(program), find_segments(make_plan(program)))


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
