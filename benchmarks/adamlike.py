"""AdamLike, as the GeePS paper measured it: memory, and speed with less of it.

    python -m benchmarks.adamlike

prints the paper's table of memory, the constants that describe its device, and speed
against memory for GeePS's own planner and for ours. Nothing is measured here: all is
planned and replayed. `benchmarks/figures.py` draws it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import prototxt
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.errors import PlanError
from geeps_caffe.execution.grouping import assign_tables
from geeps_caffe.execution.net import kept_values
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.graph import Graph
from geeps_caffe.schedule.algorithm2 import (
    ROW_BYTES,
    least_capacity,
    local_rows,
    peak_run,
    place_rows,
    table_rows,
    whole_capacity,
)
from geeps_caffe.schedule.compile import compile_program
from geeps_caffe.schedule.costs import DEVICES, Device, estimate
from geeps_caffe.schedule.instructions import Compute
from geeps_caffe.schedule.layer_schedule import COMPUTE, input_bytes, record_layers
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options, Program
from geeps_caffe.schedule.recording import Access
from geeps_caffe.schedule.search import cost_aware
from geeps_caffe.schedule.simulate import simulate
from geeps_caffe.schedule.simulate_pool import simulate_pool

NET = Path(__file__).parents[1] / "models" / "adamlike" / "train_val.prototxt"
K20C = DEVICES["k20c"]
CLOCK = 200  # images of a machine in one clock, whatever the batch
MACHINES = 8
#: Figure 12: GB of GPU memory and images per second of eight machines, by batch.
FIGURE_12 = {
    200: ((1.75, 493), (2.38, 563), (3.11, 615), (3.94, 678), (4.91, 679)),
    100: ((1.72, 347), (2.73, 444), (3.75, 576), (4.78, 578)),
    50: ((1.66, 191), (2.42, 278), (3.25, 414), (4.71, 413)),
}
#: Of the same: where everything fits.
FITTING = {batch: points[-1][1] for batch, points in FIGURE_12.items()}
#: Bytes per second at which GeePS served tables from host memory: one machine makes a
#: clock of AdamLike in 200 / 37.2 s with all tables there (its CPU-based parameter
#: server) and in 200 / 93.1 s with all on the GPU; each is read twice and updated once.
HOST_TABLES = 3 * 474.3e6 / (200 / 37.2 - 200 / 93.1)
_RULE = 9  # passes over a table's rows on the device: gathers, decay, momentum, sum


@dataclass(frozen=True)
class Case:
    """AdamLike at one batch."""

    batch: int
    graph: Graph
    accesses: tuple[Access, ...]  # of a clock, by GeePS-Caffe's rules
    program: Program  # of a batch, ours

    @property
    def bodies(self) -> int:
        """Batches of a clock."""
        return CLOCK // self.batch


def case(batch: int) -> Case:
    """The net at another batch than that of its file."""
    text = re.sub("dim: 200 ", f"dim: {batch} ", NET.read_text())
    document = prototxt.parse_net(text, NET.name)
    source = Source(document.message, document.path, document.layer_lines)
    graph = build_graph(source, NetState("TRAIN"))
    options = Options(
        keep=kept_values(graph),
        accumulate=batch < CLOCK,
        param_cache=ParamCache(),
    )
    program = compile_program(graph, ReferenceEngine(), options, assign_tables(graph))
    return Case(batch, graph, record_layers(graph, CLOCK // batch), program)


def pass_seconds(found: Case, device: Device) -> dict[str, float]:
    """Seconds of each layer's pass, the solver's rule in those of backward."""
    costs = estimate(found.program, device)
    seconds = {a.name: 0.0 for a in found.accesses if a.call == COMPUTE}
    for entry, cost in zip(found.program.instructions, costs.seconds, strict=True):
        if isinstance(entry, Compute):  # perhaps of several layers
            name = found.graph.nodes[entry.node].name
            seconds[f"{entry.direction} {name}"] += cost
    for table, rows in table_rows(found.accesses).items():
        seconds[f"backward {table}"] += _RULE * rows * ROW_BYTES / device.memory
    return seconds


# -- constants -----------------------------------------------------------------


def fitted(device: Device) -> Device:
    """The device with its two fitted constants: arithmetic, and the cost of batches.

    A batch of n takes what n + overhead records take at full speed. Both follow from
    the three points where everything fits, by least squares of relative errors.
    """
    rows, wanted = [], []
    for batch, speed in FITTING.items():
        found = case(batch)
        bare = replace(device, flops=1.0, batch_overhead=0.0)
        moved = sum(pass_seconds(found, replace(device, flops=1e30)).values())
        flops = sum(pass_seconds(found, bare).values()) - moved
        seconds = CLOCK * MACHINES / speed / found.bodies
        rows.append([flops / seconds, flops / batch / seconds])
        wanted.append((seconds - moved) / seconds)
    slope, fixed = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    return replace(device, flops=1 / slope, batch_overhead=fixed / slope)


# -- speed against memory ------------------------------------------------------


def by_algorithm_2(
    found: Case, capacity: int, tables_at: float | None = None
) -> float | None:
    """Images per second of a machine; None where GeePS refuses.

    Args:
        capacity: bytes of GPU memory.
        tables_at: bytes per second of tables in host memory; None: as other copies.
    """
    try:
        placement = place_rows(found.accesses, capacity)
    except PlanError:
        return None
    seconds = pass_seconds(found, K20C)
    return CLOCK / simulate_pool(found.accesses, placement, seconds, K20C, tables_at)


def by_costs(found: Case, capacity: int) -> float | None:
    """The same by our planner; None below the largest instruction."""
    model = partial(estimate, device=K20C)
    try:
        plan = make_plan(found.program, capacity, planner=cost_aware(model))
    except PlanError:
        return None
    return found.batch / simulate(plan, model(plan.program)).seconds


# -- text ----------------------------------------------------------------------


def memory_table(found: Case) -> Iterator[str]:
    """The paper's table for batch 200."""
    accesses = found.accesses
    entered = input_bytes(found.graph, accesses)
    rows = local_rows(accesses)
    tables = sum(table_rows(accesses).values()) * ROW_BYTES
    pool = 2 * peak_run(accesses, frozenset(rows)).rows * ROW_BYTES
    whole, least = whole_capacity(accesses), least_capacity(accesses)
    yield f"input                 {entered:>15,} bytes   (paper: 0.123 GB)"
    rest = sum(rows.values()) * ROW_BYTES - entered
    yield f"intermediate          {rest:>15,} bytes   (paper: 2.6 GB)"
    yield f"parameters            {tables:>15,} bytes   (paper: 0.474 GB)"
    yield f"updates               {tables:>15,} bytes   (paper: 0.474 GB)"
    yield f"access buffers        {pool:>15,} bytes   (paper: 1.06 GB)"
    yield f"total                 {whole:>15,} bytes   (paper: 4.73 GB)"
    share = least / whole
    yield f"least, double buffers {least:>15,} bytes   {share:.1%} (paper: 35 %)"


def speed_table(found: Case) -> Iterator[str]:
    """Speed at shares of the memory in which all fits by GeePS's rules."""
    whole = whole_capacity(found.accesses)
    full = by_algorithm_2(found, whole) or 1.0
    ours = by_costs(found, whole) or 1.0
    yield "memory          Algorithm 2   its tables pageable   cost-aware"
    for share in (1.0, 0.75, 0.5, 0.35, 0.25, 0.2):
        capacity = int(share * whole)
        speeds = (
            (by_algorithm_2(found, capacity), full),
            (by_algorithm_2(found, capacity, HOST_TABLES), full),
            (by_costs(found, capacity), ours),
        )
        shown = [f"{s / most:.1%}" if s else "refused" for s, most in speeds]
        memory = f"{share:>4.0%} {capacity / 1e9:.2f} GB"
        yield f"{memory} {shown[0]:>12} {shown[1]:>21} {shown[2]:>12}"
    speeds_at_100 = f"{full:.1f} images/s by Algorithm 2, {ours:.1f} by ours"
    yield f"100% is {speeds_at_100} (paper: 84.9)"


def main() -> None:
    """Print everything."""
    found = case(200)
    print("\n".join(memory_table(found)), end="\n\n")
    best = fitted(K20C)
    print(f"fitted to where all fits: {best.flops / 1e12:.3f} TFLOP/s, ", end="")
    print(f"{best.batch_overhead:.0f} records a batch")
    print(f"used: {K20C}\n")
    for batch, speed in FITTING.items():
        seconds = sum(pass_seconds(case(batch), K20C).values())
        print(f"batch {batch}: {batch / seconds:.1f} images/s, paper {speed / 8:.1f}")
    print()
    print("\n".join(speed_table(found)))


if __name__ == "__main__":
    main()
