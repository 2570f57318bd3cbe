"""Figures 11, 12 and 13 of the GeePS paper redrawn, ours beside the paper's points.

    python -m benchmarks.figures          writes docs/figures/*.svg

Nothing is measured: plans are made and replayed with the costs of a K20c. The paper's
values were read off its plots.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import prototxt
from benchmarks.adamlike import (
    FIGURE_12,
    HOST_TABLES,
    K20C,
    MACHINES,
    Case,
    by_algorithm_2,
    by_costs,
    case,
)
from benchmarks.svg import COLOURS, Chart, Series
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.execution.grouping import assign_tables
from geeps_caffe.execution.net import kept_values
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.schedule.algorithm2 import ROW_BYTES, rows_of
from geeps_caffe.schedule.compile import compile_program
from geeps_caffe.schedule.costs import estimate
from geeps_caffe.schedule.layer_schedule import COMPUTE
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options
from geeps_caffe.schedule.recording import Access
from geeps_caffe.schedule.search import cost_aware
from geeps_caffe.schedule.simulate import simulate

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
GIB = 2**30
#: Figure 11: what was read off it, by step.
FIGURE_11 = {
    "forward conv1": 0.396,
    "backward fc8": 0.759,
    "backward pool2": 0.51,
    "backward pool1": 0.70,
    "backward relu1": 0.56,
}
#: Figure 13: GB of parameters and 10^12 connections per second.
FIGURE_13 = (
    (2, 0.777),
    (5, 0.919),
    (8, 0.958),
    (11, 0.960),
    (14, 0.946),
    (17, 0.995),
    (20, 0.977),
)
_WIDTH, _BATCH = 10_000, 2_000
_MEMORIES = [g / 20 for g in range(16, 101, 2)]  # GB


def main() -> None:
    """Write all figures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    cases = {batch: case(batch) for batch in FIGURE_12}
    (FOLDER / "figure11.svg").write_text(figure_11(cases[200]))
    for batch, found in cases.items():
        (FOLDER / f"figure12-batch{batch}.svg").write_text(figure_12(found))
    (FOLDER / "figure13.svg").write_text(figure_13())


# -- figure 11 -----------------------------------------------------------------


def figure_11(found: Case) -> str:
    """GiB open in each step: local arrays, parameters, updates."""
    steps = open_by_kind(found.accesses)
    chart = Chart(
        "AdamLike, batch 200: memory of each step (figure 11)",
        "",
        "GiB",
        len(steps),
        0.9,
        height=520,
    )
    kinds = ("local arrays, momentum among them", "parameters", "updates")
    rows = [[step[1][kind] / GIB for step in steps] for kind in range(3)]
    chart.add_bars(kinds, rows)
    names = [name for name, _ in steps]
    points = [(names.index(name) + 0.5, value) for name, value in FIGURE_11.items()]
    chart.add(Series("the paper", points, "black", line=False))
    chart.add_x_names(names)
    return chart.text((), (0, 0.2, 0.4, 0.6, 0.8))


def open_by_kind(accesses: Sequence[Access]) -> list[tuple[str, tuple[int, int, int]]]:
    """Each layer's pass with bytes of local arrays, parameters and updates."""
    kinds = {"local_access": 0, "read": 1, "pre_update": 2}
    closes = {"post_local_access": 0, "post_read": 1, "update": 2}
    now, found = [0, 0, 0], []
    for access in accesses:
        size = rows_of(access) * ROW_BYTES
        if access.call in kinds:
            now[kinds[access.call]] += size
        elif access.call in closes:
            now[closes[access.call]] -= size
        elif access.call == COMPUTE:
            found.append((access.name, (now[0], now[1], now[2])))
    return found


# -- figure 12 -----------------------------------------------------------------


def figure_12(found: Case) -> str:
    """Images per second against GPU memory, of eight machines that do not wait."""
    paper = FIGURE_12[found.batch]
    chart = Chart(
        f"AdamLike, batch {found.batch}: speed against memory (figure 12)",
        "GB of GPU memory",
        "images per second, 8 machines",
        5.2,
        760,
        legend=(560, 310),
    )
    chart.add(_curve("Algorithm 2, replayed", found, None, COLOURS[0], ""))
    slow = "... with tables in pageable memory"
    chart.add(_curve(slow, found, HOST_TABLES, COLOURS[0], "4"))
    ours = [(m, by_costs(found, int(m * 1e9))) for m in _MEMORIES]
    points = [(m, s * MACHINES) for m, s in ours if s]
    chart.add(Series("cost-aware, replayed", points, COLOURS[2]))
    chart.add(Series("the paper, measured", paper, COLOURS[1], mark="square"))
    return chart.text((0, 1, 2, 3, 4, 5), (0, 100, 200, 300, 400, 500, 600, 700))


def _curve(
    name: str, found: Case, tables_at: float | None, colour: str, dash: str
) -> Series:
    speeds = [(m, by_algorithm_2(found, int(m * 1e9), tables_at)) for m in _MEMORIES]
    points = [(m, s * MACHINES) for m, s in speeds if s]
    return Series(name, points, colour, dash=dash)


# -- figure 13 -----------------------------------------------------------------


def figure_13() -> str:
    """Share of the full speed against the size of the model, on a device of 5 GB."""
    chart = Chart(
        "Inner products of 10,000 x 10,000 on 5 GB (figure 13)",
        "GB of parameters",
        "speed, of the best",
        22,
        1.2,
        legend=(560, 310),
    )
    most = max(speed for _, speed in FIGURE_13)
    paper = [(size, speed / most) for size, speed in FIGURE_13]
    ours = []
    for layers in (5, 12, 20, 28, 35, 42, 50):
        size = layers * (_WIDTH * _WIDTH + _WIDTH) * 4 / 1e9
        ours.append((size, deep_speed(layers)))
    chart.add(Series("cost-aware, replayed", ours, COLOURS[2]))
    chart.add(Series("the paper, measured", paper, COLOURS[1], mark="square"))
    return chart.text((0, 5, 10, 15, 20), (0, 0.25, 0.5, 0.75, 1))


def deep_speed(layers: int) -> float:
    """Share of the speed that computing alone would have, within 5 GB."""
    text = deep_net(layers)
    document = prototxt.parse_net(text, "deep.prototxt")
    source = Source(document.message, document.path, document.layer_lines)
    graph = build_graph(source, NetState("TRAIN"))
    options = Options(keep=kept_values(graph), param_cache=ParamCache())
    program = compile_program(graph, ReferenceEngine(), options, assign_tables(graph))
    model = partial(estimate, device=K20C)
    plan = make_plan(program, 5_000_000_000, planner=cost_aware(model))
    return simulate(plan, model(plan.program)).speed


def deep_net(layers: int) -> str:
    """The net's text."""
    shapes = f"shape {{ dim: {_BATCH} dim: {_WIDTH} }} shape {{ dim: {_BATCH} }}"
    lines = [
        'layer { name: "in" type: "Input" top: "data" top: "label" '
        f"input_param {{ {shapes} }} }}"
    ]
    before = "data"
    for i in range(layers):
        lines.append(
            f'layer {{ name: "ip{i}" type: "InnerProduct" bottom: "{before}" '
            f'top: "ip{i}" inner_product_param {{ num_output: {_WIDTH} }} }}'
        )
        lines.append(
            f'layer {{ name: "relu{i}" type: "ReLU" bottom: "ip{i}" top: "ip{i}" }}'
        )
        before = f"ip{i}"
    lines.append(
        f'layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "{before}" '
        'bottom: "label" top: "loss" }'
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
