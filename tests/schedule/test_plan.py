import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.instructions import SwapIn, SwapOut
from geeps_caffe.schedule.plan import make_plan
from tests.schedule.nets import LENET, TINY, graph_of, program_of
from tests.schedule.random_programs import make_program, programs

CHAIN = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 2 dim: 64 } shape { dim: 2 dim: 16 } } }
layer { name: "a" type: "InnerProduct" bottom: "data" top: "a"
  inner_product_param { num_output: 64 } }
layer { name: "b" type: "TanH" bottom: "a" top: "b" }
layer { name: "c" type: "TanH" bottom: "b" top: "c" }
layer { name: "d" type: "InnerProduct" bottom: "c" top: "d"
  inner_product_param { num_output: 16 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "d" bottom: "label" top: "loss" }
"""

#: Seven storages of up to 64 bytes, one after the other.
SIDE_BY_SIDE = [
    "read table ip",
    "forward ip [numpy] data@0 ip@64",
    "post_read table ip",
    "forward relu [numpy] ip@64",
    "forward loss [layer code] ip@64 label@256 loss@320",
    "fill loss.diff = 1 loss.diff@384",
    "backward loss [layer code] ip@64 ip#1.diff@128 label@256 loss.diff@384",
    "backward relu [numpy] ip@64 ip#1.diff@128 ip.diff@192",
    "pre_update table ip",
    "read table ip",
    "backward ip [numpy] data@0 ip.diff@192",
    "post_read table ip",
    "update table ip",
    "clock",
]

#: Of 2752 bytes, 1536 are there. Backward needs data, b and the loss's arrays last or
#: not at all, so they leave; c, read at the turning point, stays. What lies in the
#: arena between two steps (data) has one place before and after.
WITHIN_1536_BYTES = [
    "read table a",
    "forward a [numpy] a@0 data@512",
    "swap out data data@512",
    "post_read table a",
    "forward b [numpy] a@0 b@512",
    "forward c [numpy] b@512 c@0",
    "swap out b b@512",
    "read table d",
    "forward d [numpy] c@0 d@512",
    "post_read table d",
    "swap in label label@640",
    "forward loss [layer code] d@512 label@640 loss@768",
    "swap out loss loss@768",
    "fill loss.diff = 1 loss.diff@768",
    "backward loss [layer code] d@512 d.diff@1024 label@640 loss.diff@768",
    "pre_update table d",
    "read table d",
    "backward d [numpy] c@0 c.diff@512 d.diff@1024",
    "post_read table d",
    "update table d",
    "backward c [numpy] b.diff@1024 c@0 c.diff@512",
    "swap in b b@512",
    "backward b [numpy] a.diff@0 b@512 b.diff@1024",
    "pre_update table a",
    "read table a",
    "swap in data data@512",
    "backward a [numpy] a.diff@0 data@512",
    "post_read table a",
    "update table a",
    "clock",
]


def text_of(plan):
    """Instructions with the offsets of what they touch."""
    return [
        " ".join([i.text, *(f"{n}@{o}" for n, o in sorted(places.items()))])
        for i, places in zip(plan.instructions, plan.places, strict=True)
    ]


def plan_of(text, budget=None, share=None, **options):
    return make_plan(program_of(graph_of(text), **options), budget, share)


def test_side_by_side_everything_has_its_own_place():
    plan = plan_of(TINY, share=False)
    assert text_of(plan) == SIDE_BY_SIDE
    assert plan.arena_bytes == plan.total_bytes == 448


def test_within_a_budget_storages_take_turns_and_leave():
    plan = plan_of(CHAIN, budget=1536)
    assert text_of(plan) == WITHIN_1536_BYTES
    assert plan.arena_bytes == 1536


def test_each_instruction_serves_a_layer_and_a_swap_what_came_before_it():
    plan = plan_of(CHAIN, budget=1536)
    names = [node.name for node in graph_of(CHAIN).nodes]
    served = [f"{names[i]}{'*' * back}" for i, back in plan.owners()]
    assert len(served) == len(plan.instructions)
    forward = "a a a a b c c d d d d loss loss"
    backward = "loss* loss* d* d* d* d* d* c* c* b* a* a* a* a* a* a* a*"
    assert served == [*forward.split(), *backward.split()]


def test_a_plan_without_a_budget_moves_nothing():
    plan = plan_of(LENET, share=True)
    assert plan.moved_bytes == 0
    assert plan.host_bytes == 0
    assert plan.arena_bytes < plan.total_bytes


def test_moved_bytes_are_those_of_all_swaps():
    plan = plan_of(CHAIN, budget=1536)
    sizes = plan.program.storage_bytes()
    swaps = [i for i in plan.instructions if isinstance(i, SwapIn | SwapOut)]
    assert plan.moved_bytes == sum(sizes[s.storage] for s in swaps)


def test_too_small_a_budget_names_the_instruction_and_the_least():
    least = plan_of(CHAIN, share=True).least_bytes
    with pytest.raises(
        PlanError, match="a budget of 1,000 bytes is too small"
    ) as error:
        plan_of(CHAIN, budget=1000)
    assert f"least {least:,} bytes" in str(error.value)
    assert "backward b" in str(error.value)
    assert "b.diff 512" in str(error.value)


def test_nets_that_are_driven_by_hand_share_no_place_within_a_budget_either():
    program = program_of(graph_of(CHAIN), keep_all=True)
    least = make_plan(program, share=False).least_bytes
    plan = make_plan(program, budget=least)
    assert plan.lasting == set(program.storage_bytes())
    assert check_plan(plan) == []


def test_a_program_without_instructions_keeps_its_inputs():
    text = """layer { name: "in" type: "Input" top: "data"
      input_param { shape { dim: 2 dim: 64 } } }"""
    assert plan_of(text, budget=512).final == {"data": 0}
    away = plan_of(text, budget=100)
    assert (away.final, away.host_offsets) == ({}, {"data": 0})
    assert check_plan(away) == []


@settings(max_examples=300, deadline=None)
@given(programs(), st.sampled_from([1.0, 1.02, 1.15, 1.5, 2.5]), st.booleans())
def test_any_budget_from_the_least_on_gives_a_good_plan(program, factor, share):
    free = make_plan(program, share=share)
    budget = int(free.least_bytes * factor)
    plan = make_plan(program, budget, share)
    assert check_plan(free) == []
    assert check_plan(plan) == []
    assert plan.arena_bytes <= budget
    assert plan.least_bytes == free.least_bytes


@settings(max_examples=150, deadline=None)
@given(programs(), st.booleans())
def test_instructions_find_what_they_read(program, share):
    """Run on numbers: every write is a new number, every read must find it."""
    for factor in (1.0, 1.3):
        least = make_plan(program, share=share).least_bytes
        plan = make_plan(program, int(least * factor), share)
        assert steps(plan, 3) == steps(make_plan(program, share=False), 3)


def steps(plan, count):
    """What is read in some steps: memory is bytes, and what leaves is poisoned."""
    sizes, arrays = plan.program.storage_bytes(), plan.program.arrays
    arena = np.zeros(plan.arena_bytes, np.uint8)
    host = np.zeros(plan.host_bytes, np.uint8)
    seen, number = [], 0

    def home(storage):
        start = plan.host_offsets[storage]
        return host[start : start + sizes[storage]]

    for name in sorted(plan.program.persistent):
        number += 1
        start = plan.final.get(name)
        block = home(name) if start is None else arena[start : start + sizes[name]]
        block[...] = number
    for _ in range(count):
        for instruction, places in zip(plan.instructions, plan.places, strict=True):
            blocks = {s: arena[o : o + sizes[s]] for s, o in places.items()}
            match instruction:
                case SwapIn(storage):
                    blocks[storage][...] = home(storage)
                case SwapOut(storage):
                    home(storage)[...] = blocks[storage]
                    blocks[storage][...] = 0xFF
                case _:
                    for name in instruction.reads:
                        seen.append(blocks[arrays[name].storage].tobytes())
                    for name in instruction.writes:
                        number += 1
                        blocks[arrays[name].storage][...] = number % 251
    return seen


@pytest.mark.parametrize("factor", [None, 1.0, 1.3])
def test_thousands_of_instructions_are_planned(factor):
    program = make_program(random.Random(3), 3000, "there and back")
    budget = factor and int(make_plan(program, share=True).least_bytes * factor)
    plan = make_plan(program, budget)
    assert check_plan(plan) == []
