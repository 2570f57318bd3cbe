"""The checker must find every kind of fault: good plans are spoilt in one point."""

import random
from dataclasses import replace

import pytest

from geeps_caffe.schedule.check import check_plan, find_faults
from geeps_caffe.schedule.instructions import (
    Accumulate,
    Clock,
    Compute,
    Fill,
    SwapIn,
    SwapOut,
    Table,
)
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options, Program
from tests.schedule.nets import LENET, TINY, graph_of, program_of
from tests.schedule.random_programs import make_program


def plan_of(text=TINY, factor=None, **options):
    program = program_of(graph_of(text), **options)
    least = make_plan(program, share=True).least_bytes
    return make_plan(program, factor and int(least * factor))


def positions(plan, kind):
    """Of all instructions of a kind."""
    return [i for i, e in enumerate(plan.instructions) if isinstance(e, kind)]


def find(plan, kind, **fields):
    """The position of the first instruction of a kind with these values."""
    return next(
        i
        for i, entry in enumerate(plan.instructions)
        if isinstance(entry, kind)
        and all(getattr(entry, name) == value for name, value in fields.items())
    )


def changed(plan, position, instruction):
    """The plan with one instruction replaced, or taken out (None)."""
    new = [] if instruction is None else [instruction]
    entries = list(plan.instructions)
    places, origin = list(plan.places), list(plan.origin)
    entries[position : position + 1] = new
    places[position : position + 1] = places[position : position + 1] * len(new)
    origin[position : position + 1] = origin[position : position + 1] * len(new)
    program = replace(
        plan.program,
        instructions=[e for e, o in zip(entries, origin, strict=True) if o >= 0],
    )
    return replace(
        plan,
        program=program,
        instructions=tuple(entries),
        places=tuple(places),
        origin=tuple(origin),
    )


def moved(plan, position, storage, offset):
    """The plan with one storage somewhere else at one instruction."""
    places = [dict(p) for p in plan.places]
    places[position][storage] = offset
    return replace(plan, places=tuple(places))


def only_fault(plan):
    faults = check_plan(plan)
    assert faults
    return faults[0]


# -- memory --------------------------------------------------------------------


@pytest.mark.parametrize("factor", [None, 1, 1.2])
@pytest.mark.parametrize("text", [TINY, LENET])
def test_a_good_plan_has_no_fault(text, factor):
    assert check_plan(plan_of(text, factor)) == []


def test_an_arena_beyond_the_budget():
    plan = replace(plan_of(factor=1), budget=100)
    assert "more than the budget of 100" in only_fault(plan)


def test_a_place_outside_of_the_arena():
    plan = plan_of()
    position = find(plan, Compute, name="loss")
    fault = only_fault(moved(plan, position, "loss", plan.arena_bytes))
    assert "'loss' lies outside of" in fault


def test_two_arrays_of_one_instruction_in_one_place():
    plan = plan_of()
    position = find(plan, Compute, name="ip")
    places = plan.places[position]
    fault = only_fault(moved(plan, position, "ip", places["data"]))
    assert "overlap at byte" in fault


def test_what_is_read_elsewhere_than_it_lies():
    plan = plan_of()
    position = find(plan, Compute, name="loss", direction="backward")
    faults = check_plan(moved(plan, position, "label", 0))
    assert any("reads 'label' at byte 0, but it lies at byte" in f for f in faults)


def test_what_was_put_over_values_that_are_read_later():
    plan = plan_of(LENET)
    position = find(plan, Compute, name="pool1", direction="forward")
    label = plan.final["label"]
    top = plan.places[find(plan, Compute, name="pool1")]["pool1"]
    spoilt = moved(moved(plan, position, "pool1", label), position + 2, "pool1", label)
    assert top != label
    faults = check_plan(spoilt)
    assert any("has put 'pool1' in its place" in fault for fault in faults)


def test_what_nothing_has_written():
    plan = plan_of()
    position = find(plan, Fill, array="loss.diff")
    faults = check_plan(changed(plan, position, None))
    assert "reads 'loss.diff', which nothing has written" in faults[0]


def test_what_a_layer_in_place_has_overwritten():
    plan = plan_of()
    position = find(plan, Compute, name="loss", direction="forward")
    entry = plan.instructions[position]
    ports = tuple((p, "ip" if a == "ip#1" else a) for p, a in entry.ports)
    fault = only_fault(changed(plan, position, replace(entry, ports=ports)))
    assert "reads 'ip', which instruction 3 has overwritten with 'ip#1'" in fault


def test_what_an_instruction_writes_over_while_it_uses_it():
    program = Program(Options())
    program.add("a", (4,))
    program.add("b", (4,), storage="a")
    program.emit(Fill("a", 0.0))
    program.emit(Compute("forward", 0, "x", (("bottom1", "a"), ("top0", "b"))))
    assert "into the memory of 'a', which it uses" in only_fault(make_plan(program))


def test_a_view_shows_what_its_array_holds():
    program = Program(Options())
    program.add("a", (4,))
    program.add("flat", (2, 2), view_of="a")
    program.add("sum", (4,))
    program.emit(Fill("sum", 0.0))
    program.emit(Accumulate("flat", "sum"))
    assert "reads 'flat', which nothing" in only_fault(make_plan(program))
    program.instructions.insert(0, Fill("a", 1.0))
    assert check_plan(make_plan(program)) == []


# -- swaps ---------------------------------------------------------------------


def test_a_swap_that_is_missing():
    plan = plan_of(LENET, factor=1)
    fetched = find(plan, SwapIn)
    faults = check_plan(changed(plan, fetched, None))
    assert any("but" in fault and "reads" in fault for fault in faults)


def test_every_swap_is_needed():
    plan = plan_of(LENET, factor=1)
    swaps = positions(plan, SwapIn | SwapOut)
    assert len(swaps) > 2
    for position in swaps:
        assert check_plan(changed(plan, position, None)), position


def test_a_swap_in_of_what_was_never_swapped_out():
    program = make_program(random.Random(1), 25, "there and back", 0)
    plan = make_plan(program, make_plan(program, share=True).least_bytes)
    position = find(plan, SwapOut)
    faults = check_plan(changed(plan, position, None))
    assert any("copies what was never swapped out" in fault for fault in faults)


def test_a_copy_in_host_memory_that_is_out_of_date():
    program = Program(Options())
    for name in ("a", "b"):
        program.add(name, (16,))
    program.emit(Fill("a", 1.0))
    program.emit(Fill("b", 1.0))
    program.emit(Accumulate("b", "a"))
    plan = make_plan(program, share=False)
    out, back = SwapOut("a"), SwapIn("a")
    entries = list(plan.instructions)
    spoilt = replace(
        plan,
        # Out after the first write, in before the sum; in again without an out.
        instructions=(entries[0], out, entries[1], back, entries[2], back, entries[2]),
        places=tuple(
            {"a": plan.final["a"]} if i in (0, 1, 3, 5) else dict(plan.final)
            for i in range(7)
        ),
        origin=(0, -1, 1, -1, 2, -1, 2),
        host_offsets={"a": 0},
        host_bytes=64,
    )
    faults = check_plan(spoilt)
    assert any("as it was before instruction 4 wrote it" in fault for fault in faults)


def test_an_output_that_is_gone_after_the_step():
    plan = plan_of(factor=1)
    final = {k: v for k, v in plan.final.items() if k != "loss"}
    hosts = {k: v for k, v in plan.host_offsets.items() if k != "loss"}
    faults = find_faults(replace(plan, final=final, host_offsets=hosts))
    assert any("after the step 'loss' is not" in f.sentence for f in faults)
    assert faults[-1].position == len(plan.instructions)


def test_an_input_that_moves_between_steps():
    plan = plan_of()
    spoilt = replace(plan, final=plan.final | {"data": plan.final["label"]})
    assert check_plan(spoilt)


def test_what_is_filled_once_must_stay():
    plan = plan_of(keep_all=True)
    final = {k: v for k, v in plan.final.items() if k != "loss.diff"}
    spoilt = replace(plan, final=final)
    assert any("is done once" in fault for fault in check_plan(spoilt))


# -- order and tables ----------------------------------------------------------


def test_instructions_that_are_missing_or_in_another_order():
    plan = plan_of()
    entries = list(plan.instructions)
    entries[3], entries[4] = entries[4], entries[3]
    spoilt = replace(plan, instructions=tuple(entries))
    assert any("not those of its program" in fault for fault in check_plan(spoilt))


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (Table("read", "ip"), "uses 'ip/0' without a read of table 'ip'"),
        (Table("pre_update", "ip"), "uses 'ip/0.diff' without a pre_update"),
        (Table("post_read", "ip"), "opens what is open already"),
        (Table("update", "ip"), "comes when table 'ip' has 0 updates"),
        (Clock(), "there are updates but no clock"),
    ],
)
def test_a_call_of_the_parameter_server_that_is_missing(entry, fault):
    plan = plan_of()
    fields = {} if isinstance(entry, Clock) else {"call": entry.call}
    position = find(plan, type(entry), **fields)
    faults = check_plan(changed(plan, position, None))
    assert any(fault in found for found in faults), faults


@pytest.mark.parametrize("kind", [Table, Clock])
def test_a_call_of_the_parameter_server_that_comes_twice(kind):
    plan = plan_of()
    calls = positions(plan, kind)
    assert calls
    for position in calls:
        instructions = [*plan.program.instructions]
        entry = plan.instructions[position]
        instructions.insert(plan.origin[position], entry)
        spoilt = make_plan(replace(plan.program, instructions=instructions))
        assert check_plan(spoilt), entry.text


def test_a_table_is_updated_with_gradients_that_were_written():
    plan = plan_of()
    position = find(plan, Compute, name="ip", direction="backward")
    entry = plan.instructions[position]
    ports = tuple(p for p in entry.ports if p[0] != "param1.diff")
    faults = check_plan(changed(plan, position, replace(entry, ports=ports)))
    assert "reads 'ip/1.diff', which nothing has written" in faults[0]


def test_only_the_parameter_server_writes_params():
    plan = plan_of()
    position = find(plan, Table, call="post_read")
    spoilt = changed(plan, position, Fill("ip/0", 0.0))
    assert any("only the parameter server" in fault for fault in check_plan(spoilt))


# -- any plan ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_any_swap_or_place_that_is_spoilt_is_found(seed):
    """Each swap of a plan is needed, and so is the place of each read."""
    chance = random.Random(seed)
    program = make_program(chance, 25, chance.choice(["any", "there and back"]), 1)
    plan = make_plan(program, make_plan(program, share=True).least_bytes)
    assert check_plan(plan) == []
    for position, entry in enumerate(plan.instructions):
        if isinstance(entry, SwapIn):
            assert check_plan(changed(plan, position, None)), position
        elif isinstance(entry, Compute) and entry.reads:
            storage = program.arrays[entry.reads[0]].storage
            offset = plan.places[position][storage] + 64
            assert check_plan(moved(plan, position, storage, offset)), position
