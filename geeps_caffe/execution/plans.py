"""The plan that a net is bound to: budget, costs and recomputation together."""

from dataclasses import dataclass
from functools import partial

from geeps_caffe.config.job import RunSettings
from geeps_caffe.graph.graph import Graph
from geeps_caffe.schedule.costs import CostModel, estimate, find_device
from geeps_caffe.schedule.plan import Plan, make_plan
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.recompute import best_recomputed
from geeps_caffe.schedule.search import cost_aware
from geeps_caffe.schedule.warning_level import check_level

#: Layers whose forward may run twice: no params, no statistics, nothing but their tops.
REPEATABLE = frozenset(
    {
        "AbsVal",
        "BNLL",
        "Concat",
        "Crop",
        "Dropout",
        "ELU",
        "Eltwise",
        "Exp",
        "LRN",
        "Log",
        "MVN",
        "Pooling",
        "Power",
        "ReLU",
        "Sigmoid",
        "Slice",
        "Softmax",
        "Swish",
        "TanH",
        "Threshold",
        "Tile",
    }
)


MEASURED = "measured"  # instead of a device's name: in the first steps


@dataclass(frozen=True)
class Planning:
    """How a net's memory is planned."""

    budget: int | None = None  # bytes of the arena
    share: bool | None = None  # one place for several arrays, by lifetime
    model: CostModel | None = None  # None: as few bytes as possible move
    recompute: bool = True  # where costs are known and it is faster than swapping
    level: int = 0  # GeePS's mm_warning_level


def plan_net(program: Program, graph: Graph, planning: Planning) -> Plan:
    """The plan of a compiled net; of another program where passes run twice.

    Raises:
        PlanError: the budget is below what some instruction needs, or the plan has
            not what the warning level asks for.
    """
    plan = _plan_net(program, graph, planning)
    check_level(plan, planning.level)
    return plan


def _plan_net(program: Program, graph: Graph, planning: Planning) -> Plan:
    if planning.model is None:
        return make_plan(program, planning.budget, planning.share)
    planner = cost_aware(planning.model)
    if planning.recompute and planning.budget and not program.options.keep_all:
        nodes = {n.index for n in graph.nodes if n.type in REPEATABLE}
        model, budget = planning.model, planning.budget
        return best_recomputed(program, nodes, budget, planner, model)
    return make_plan(program, planning.budget, planning.share, planner)


def model_of(settings: RunSettings) -> CostModel | None:
    """The costs by which a run is planned; None: by bytes, or not measured yet."""
    if settings.costs in ("", MEASURED):
        return None
    return partial(estimate, device=find_device(settings.costs))


def planning_of(settings: RunSettings) -> Planning:
    """How the nets of a run are planned."""
    return Planning(
        settings.memory,
        settings.share,
        model_of(settings),
        settings.recompute,
        settings.warning_level,
    )
