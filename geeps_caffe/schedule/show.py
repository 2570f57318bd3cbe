"""A plan as text: a table of instructions and arrays, and what it all amounts to."""

from collections.abc import Iterator

from geeps_caffe.graph.graph import Graph
from geeps_caffe.schedule.instructions import (
    Compute,
    Instruction,
    PlannedArray,
    Reorder,
    SwapIn,
    SwapOut,
)
from geeps_caffe.schedule.plan import Plan

ARROW = "-->"  # in front of the instruction at which a plan is wrong


def show_plan(
    plan: Plan, graph: Graph | None = None, fault_at: int | None = None
) -> str:
    """A plan as a table that a person can read.

    Each instruction has a line with its position and queue, then a line for each of
    its arrays: "<" read, ">" written, "=" both, the shape, layout and bytes, and where
    it lies ("@" and its offset in the arena, or what it is a lease on).

    Args:
        plan: what to show.
        graph: its net; with it the summary tells layers' types.
        fault_at: position of an instruction that is wrong; an arrow points at it.
    """
    lines = []
    for position, instruction in enumerate(plan.instructions):
        mark = ARROW if position == fault_at else ""
        head = f"{mark:3} {position:>5}  {instruction.queue:<8}  {instruction.text}"
        lines += [head, *_arrays(plan, position, instruction)]
    mark = ARROW if fault_at is not None and fault_at >= len(plan.instructions) else ""
    lines.append(f"{mark:3} after the step")
    return "\n".join([*lines, "", *summary(plan, graph)]) + "\n"


def summary(plan: Plan, graph: Graph | None = None) -> list[str]:
    """What a plan amounts to, as lines: memory, transfers, how layers are computed."""
    swaps = [i for i in plan.instructions if isinstance(i, SwapIn | SwapOut)]
    reorders = [i for i in plan.instructions if isinstance(i, Reorder)]
    budget = "" if plan.budget is None else f" of {plan.budget:,} allowed"
    return [
        f"arrays side by side   {plan.total_bytes:>15,} bytes",
        f"arena                 {plan.arena_bytes:>15,} bytes{budget}",
        f"least arena           {plan.least_bytes:>15,} bytes",
        f"host memory           {plan.host_bytes:>15,} bytes",
        f"moved in a step       {plan.moved_bytes:>15,} bytes by {len(swaps)} swaps",
        f"reorders              {len(reorders):>15,}",
        *_how_computed(plan, graph),
        *_largest(plan),
    ]


# -- instructions --------------------------------------------------------------


def _arrays(plan: Plan, position: int, instruction: Instruction) -> Iterator[str]:
    places = plan.places[position]
    if isinstance(instruction, SwapIn | SwapOut):
        nbytes = plan.program.storage_bytes()[instruction.storage]
        host = plan.host_offsets.get(instruction.storage)
        where = f"@{places[instruction.storage]:,}"
        home = "" if host is None else f", host @{host:,}"
        yield f"{'':21}{nbytes:,} bytes {where}{home}"
        return
    reads, writes = set(instruction.reads), set(instruction.writes)
    for name in dict.fromkeys(instruction.reads + instruction.writes):
        mark = "=" if name in reads & writes else "<" if name in reads else ">"
        array = plan.program.arrays[name]
        shape = "x".join(map(str, array.shape)) or "1"
        yield (
            f"{'':21}{mark} {name:<28} {shape:<16} {array.layout.name:<10} "
            f"{array.layout.nbytes:>13,} {_where(array, places)}"
        )


def _where(array: PlannedArray, places: dict[str, int]) -> str:
    if array.home != "arena":
        return array.home
    offset = places.get(array.storage)
    return "nowhere" if offset is None else f"@{offset:,}"


# -- summary -------------------------------------------------------------------


def _how_computed(plan: Plan, graph: Graph | None) -> Iterator[str]:
    """Passes that the engine has no operation for, by layer."""
    passes = [i for i in plan.instructions if isinstance(i, Compute)]
    others = [i for i in passes if i.description is None]
    yield f"passes by the engine  {len(passes) - len(others):>15,} of {len(passes):,}"
    declined = [i for i in others if _has_operation(i, graph)]
    code = [i for i in others if i not in declined]
    for title, found in (("by definition", declined), ("by layer code", code)):
        if found:
            yield f"{title:<22}{len(found):>15,}  {_names(found, graph)}"


def _has_operation(instruction: Compute, graph: Graph | None) -> bool:
    """Whether the pass is that of an operation, which the engine declined."""
    if instruction.request is not None:
        return True
    if graph is None:
        return False
    return graph.nodes[instruction.node].layer.operation() is not None


def _names(passes: list[Compute], graph: Graph | None) -> str:
    if graph is None:
        return ", ".join(dict.fromkeys(i.name for i in passes))
    nodes = dict.fromkeys(graph.nodes[i.node] for i in passes)
    return ", ".join(f"{node.name} ({node.type})" for node in nodes)


def _largest(plan: Plan) -> Iterator[str]:
    """The three instructions that touch most of the arena."""
    sizes = plan.program.storage_bytes()
    needs = [sum(sizes[s] for s in places) for places in plan.places]
    order = sorted(range(len(needs)), key=lambda i: -needs[i])
    for position in order[:3]:
        text = plan.instructions[position].text
        yield f"largest instruction   {needs[position]:>15,} bytes  {position}: {text}"
