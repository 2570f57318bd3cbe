"""A large inner product's weights are updated while their gradient is made.

    backward ip, post_read table ip, update table ip
    ->  backward ip, post_read table ip, update ip by 64 rows, update table ip

The rows of the gradient are made after the bottom's diff, a few that fit the cache at
a time, and the solver's rule is applied to them at once. So the gradient as a whole
has no memory, and none of it is written there or read again. What is left for the
table's own update are its other blobs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from geeps_caffe.device.array import aligned, count
from geeps_caffe.engines.engine import Description, Engine, Layout, Request
from geeps_caffe.engines.operations import InnerProduct
from geeps_caffe.schedule.instructions import Compute, Instruction, Table, UpdateRows
from geeps_caffe.schedule.passes.edit import edited
from geeps_caffe.schedule.program import Program

#: Bytes of weights that are worth it, and at least of the rows that are made at a time.
#: Measured on a second-level cache of 1 MB a core, 32 MB behind it: 2 to 5 MB are best.
LEAST, SLICE = 8 << 20, 2 << 20

_USED = ("bottom0", "top0.diff", "param0.diff", "param1.diff")

_Pass = tuple[Request, Description]


@dataclass(frozen=True)
class _Rows:
    """How a backward pass is parted."""

    rest: _Pass | None  # what stays of it
    rows: int
    layout: Layout
    each: _Pass
    last: _Pass | None


def update_by_rows(program: Program, engine: Engine) -> Program:
    """The program with every such update parted, where nobody sees the gradient."""
    if not program.options.by_rows or program.options.accumulate:
        return program
    for position in reversed(range(program.backward_start, len(program.instructions))):
        entry = program.instructions[position]
        if isinstance(entry, Compute) and _fits(program, position, entry):
            found = _part(program, engine, entry)
            if found is not None:
                program = _parted(program, position, entry, found)
    return program


def _fits(program: Program, position: int, entry: Compute) -> bool:
    """Whether it is the only one to make the gradient, and the last to use weights."""
    request, ports = entry.request, dict(entry.ports)
    if request is None or not isinstance(request.operation, InnerProduct):
        return False
    gradient = ports.get("param0.diff", "")
    if request.operation.transpose or gradient not in program.arrays:
        return False
    array = program.arrays[gradient]
    bias = program.arrays[ports.get("param1.diff", gradient)]
    if {array.home, bias.home} != {"gradient"} or array.layout.nbytes < LEAST:
        return False
    weights = program.params[gradient.removesuffix(".diff")]
    others = [i for i in _touching(program, gradient) if i != position]
    later = any(i > position for i in _touching(program, weights))
    return not others and not later


def _touching(program: Program, name: str) -> Iterator[int]:
    for position, entry in enumerate(program.instructions):
        if not isinstance(entry, Table) and name in entry.reads + entry.writes:
            yield position


def _part(program: Program, engine: Engine, entry: Compute) -> _Rows | None:
    """The passes in its place; None where the engine can't do them."""
    gradient = dict(entry.ports)["param0.diff"]
    array = program.arrays[gradient]
    found = _fitting_rows(engine, array.shape, array.layout)
    rest = _rest(program, engine, entry)
    if found is None or rest is None:
        return None
    rows, layout = found
    each = _of_rows(program, engine, entry, rows, layout)
    left, last = array.shape[0] % rows, None
    if left:
        nbytes = array.layout.nbytes - array.shape[0] // rows * layout.nbytes
        own = Layout(layout.name, nbytes)
        last = _of_rows(program, engine, entry, left, own)
    if each is None or (left and last is None):
        return None
    return _Rows(rest[0], rows, layout, each, last)


def _fitting_rows(
    engine: Engine, shape: tuple[int, ...], layout: Layout
) -> tuple[int, Layout] | None:
    """The fewest rows, of powers of 2, that have the bytes of a slice."""
    rows = 8
    while rows < shape[0]:
        found = engine.rows_layout(shape, layout, rows)
        if found is not None and found.nbytes >= SLICE:
            return rows, found
        rows *= 2
    return None


def _rest(
    program: Program, engine: Engine, entry: Compute
) -> tuple[_Pass | None] | None:
    """The pass without gradients of params; (None,) if nothing is left of it."""
    request, ports = entry.request, dict(entry.ports)
    assert request is not None
    if "bottom0.diff" not in request.shapes:
        return (None,)
    gone = ("param0.diff", "param1.diff")
    shapes = {port: s for port, s in request.shapes.items() if port not in gone}
    rest = replace(request, shapes=shapes)
    description = engine.describe(rest)
    if description is None:
        return None
    lies = {port: program.arrays[ports[port]].layout for port in description.layouts}
    return ((rest, description),) if lies == dict(description.layouts) else None


def _of_rows(
    program: Program, engine: Engine, entry: Compute, rows: int, layout: Layout
) -> _Pass | None:
    """The pass that makes the params' gradients of so many rows."""
    assert entry.request is not None
    request, ports = entry.request, dict(entry.ports)
    shapes = {}
    for port in _USED:
        if port in request.shapes:
            shape = request.shapes[port]
            part = (*shape[:-1], rows) if port == "top0.diff" else (rows, *shape[1:])
            shapes[port] = shape if port == "bottom0" else part
    plain = Layout("plain", count(shapes["top0.diff"]) * program.itemsize())
    bottom = program.arrays[ports["bottom0"]].layout
    given = {"bottom0": bottom, "param0": layout, "top0": plain, "top0.diff": plain}
    made = replace(request, shapes=shapes, given=given)
    found = engine.describe(made)
    wanted = {"bottom0": bottom, "param0.diff": layout, "top0.diff": plain}
    if found is None or any(found.layouts.get(p) != x for p, x in wanted.items()):
        return None
    if not found.layouts.keys() <= shapes.keys():
        return None
    whole = program.arrays[ports["top0.diff"]].layout.plain
    return (made, found) if whole else None


def _parted(program: Program, position: int, entry: Compute, found: _Rows) -> Program:
    """The program with both passes, and without the array of the gradient."""
    program = replace(program, arrays=dict(program.arrays))
    ports = dict(entry.ports)
    key = ports["param0.diff"].removesuffix(".diff")
    array = program.arrays.pop(ports["param0.diff"])
    shape = (found.rows, *array.shape[1:])
    ports["param0.diff"] = program.add(f"{key}.diff rows", shape, found.layout)
    nbytes = _scratch(program, found)
    update = UpdateRows(
        entry.node,
        entry.name,
        key,
        program.tables[key],
        tuple((p, a) for p, a in ports.items() if p in _USED),
        found.rows,
        *found.each,
        found.last,
        program.add(f"{key}.diff scratch", (nbytes,), dtype="uint8"),
    )
    new, behind = _without(program, array.name), position
    if found.rest is not None:
        new[position] = _remaining(program, entry, *found.rest)
    gone = {position} if found.rest is None else set()
    while not _ends_reading(program.instructions[behind], update.table):
        behind += 1
    return edited(program, new, gone, {behind: update})


def _ends_reading(entry: Instruction, table: str) -> bool:
    return isinstance(entry, Table) and (entry.call, entry.table) == (
        "post_read",
        table,
    )


def _scratch(program: Program, found: _Rows) -> int:
    """Bytes for columns of the top's diff, the bias's gradient, and the engine."""
    passes = [found.each] + ([found.last] if found.last else [])
    columns = max(count(request.shapes["top0.diff"]) for request, _ in passes)
    work = max(description.scratch for _, description in passes)
    size = program.itemsize()
    return aligned(columns * size) + aligned(found.rows * size) + aligned(work)


def _without(program: Program, gradient: str) -> dict[int, Instruction]:
    """The table's calls, which no longer open and hand in this gradient."""
    return {
        i: replace(entry, arrays=tuple(a for a in entry.arrays if a != gradient))
        for i, entry in enumerate(program.instructions)
        if isinstance(entry, Table) and gradient in entry.arrays
    }


def _remaining(
    program: Program, entry: Compute, request: Request, description: Description
) -> Compute:
    """The pass that makes the bottom's diff alone."""
    ports = tuple(
        (port, name) for port, name in entry.ports if port in description.layouts
    )
    scratch = None
    if description.scratch:
        scratch = program.add(
            f"{entry.name}.scratch rows", (description.scratch,), dtype="uint8"
        )
    return replace(
        entry, ports=ports, request=request, description=description, scratch=scratch
    )
