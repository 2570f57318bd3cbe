"""The checker: replays a plan on paper and says what would go wrong.

It knows nothing of how plans are made. It keeps account of what every storage should
hold (as if memory had no end), of what lies in the arena and what in host memory, and
compares at each read. What it checks:

- the arena keeps its budget, and what one instruction touches does not overlap;
- what is read was written before, and neither overwritten nor moved away since;
- what comes in from host memory was brought there, or is from the step before;
- what is to last or to be readable after the step is where the plan says;
- leases, updates and clocks of tables (see `check_tables`).
"""

from collections.abc import Iterator

from geeps_caffe.schedule.check_tables import table_faults
from geeps_caffe.schedule.faults import Fault
from geeps_caffe.schedule.instructions import (
    Compute,
    Fill,
    Instruction,
    SwapIn,
    SwapOut,
    Table,
)
from geeps_caffe.schedule.ledger import Ledger
from geeps_caffe.schedule.plan import Plan
from geeps_caffe.schedule.program import Program


def check_plan(plan: Plan) -> list[str]:
    """The faults of a plan as sentences; none if it can be trusted."""
    return [fault.sentence for fault in find_faults(plan)]


def find_faults(plan: Plan) -> list[Fault]:
    """The faults of a plan, in the order of their instructions."""
    found = [*_form_faults(plan), *_value_faults(plan), *table_faults(plan)]
    return sorted(found, key=lambda fault: fault.position)


# -- form ----------------------------------------------------------------------


def _form_faults(plan: Plan) -> Iterator[Fault]:
    """What can be seen without a replay: sizes, overlaps, order."""
    if plan.budget is not None and plan.arena_bytes > plan.budget:
        yield Fault(
            0,
            f"the arena has {plan.arena_bytes:,} bytes, more than the budget of "
            f"{plan.budget:,}",
        )
    kept = [(o, i) for o, i in zip(plan.origin, plan.instructions, strict=True)]
    if [i for o, i in kept if o >= 0] != plan.program.instructions:
        yield Fault(0, "the plan's instructions are not those of its program, in order")
    sizes = plan.program.storage_bytes()
    for position, places in enumerate(plan.places):
        title = _title(plan, position)
        for text in _overlaps(places, sizes, plan.arena_bytes):
            yield Fault(position, f"{title}: {text} of the arena")
    end = len(plan.instructions)
    for text in _overlaps(plan.final, sizes, plan.arena_bytes):
        yield Fault(end, f"after the step: {text} of the arena")
    for text in _overlaps(plan.host_offsets, sizes, plan.host_bytes):
        yield Fault(end, f"{text} of the host memory")


def _overlaps(
    places: dict[str, int], sizes: dict[str, int], limit: int
) -> Iterator[str]:
    previous, top = "", 0
    for name, offset in sorted(places.items(), key=lambda item: item[1]):
        if offset < 0 or offset + sizes[name] > limit:
            yield f"{name!r} lies outside of the {limit:,} bytes"
        if offset < top:
            yield f"{previous!r} and {name!r} overlap at byte {offset:,}"
        if offset + sizes[name] > top:
            previous, top = name, offset + sizes[name]


# -- values --------------------------------------------------------------------


def _value_faults(plan: Plan) -> Iterator[Fault]:
    """What a replay finds: values that are not there when they are read."""
    ledger = Ledger(plan)
    for position, instruction in enumerate(plan.instructions):
        title = _title(plan, position)
        for text in _run(plan, ledger, position, instruction):
            yield Fault(position, f"{title} {text}")
    end = len(plan.instructions)
    for text in ledger.after(_readable(plan)):
        yield Fault(end, f"after the step {text}")


def _run(
    plan: Plan, ledger: Ledger, position: int, instruction: Instruction
) -> Iterator[str]:
    places = plan.places[position]
    match instruction:
        case SwapIn(storage):
            yield from ledger.swap_in(storage, places.get(storage), position)
        case SwapOut(storage):
            yield from ledger.swap_out(storage, places.get(storage))
        case Table("pre_update", _, arrays):
            for name in arrays:
                ledger.forget(name)
        case Table("read", table):
            ledger.lend(table)
        case Table("update", _, arrays) if plan.program.leases:
            for name in arrays:
                yield from ledger.hand_in(name)
        case Fill(array, when="once"):
            # It runs when the plan is bound, so its value must be there from then on.
            if plan.program.arrays[array].storage not in plan.final:
                yield f"is done once, but {array!r} does not stay in the arena"
            yield from ledger.read(array, places)
        case _:
            for name in instruction.reads:
                yield from ledger.read(name, places)
            yield from _writes_over(plan.program, instruction)
            for name in dict.fromkeys(instruction.writes):
                yield from ledger.write(name, places, position)


def _writes_over(program: Program, instruction: Instruction) -> Iterator[str]:
    """Arrays in one memory, of which one instruction writes one: only in place."""
    roots = {name: program.root(name) for name in instruction.writes}
    allowed = _in_place(instruction)
    for name in dict.fromkeys(instruction.reads + instruction.writes):
        array = program.arrays[name]
        for written, root in roots.items():
            same = program.arrays[written].storage == array.storage
            if same and program.root(name) != root and (name, written) != allowed:
                if name in roots and (written, name) == allowed:
                    continue
                yield f"writes {written!r} into the memory of {name!r}, which it uses"


def _in_place(instruction: Instruction) -> tuple[str, str] | None:
    """The bottom and the top that a layer may have in one place."""
    if not isinstance(instruction, Compute) or instruction.direction != "forward":
        return None
    ports = dict(instruction.ports)
    return ports.get("bottom0", ""), ports.get("top0", "")


def _readable(plan: Plan) -> list[str]:
    """Arrays whose values are asked for after the step."""
    program = plan.program
    return [program.data[v] for v in program.options.keep if v in program.data]


def _title(plan: Plan, position: int) -> str:
    return f"instruction {position} ({plan.instructions[position].text})"
