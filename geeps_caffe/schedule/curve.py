"""Speed against memory: what a program loses when it may use less."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from geeps_caffe.schedule.costs import CostModel
from geeps_caffe.schedule.plan import Plan
from geeps_caffe.schedule.simulate import Simulation, simulate

#: Makes the plan of a program within a budget; None: without a limit.
PlanFor: TypeAlias = Callable[[int | None], Plan]
LOSS = 0.01  # of the speed: so much is called no loss
_HALVINGS = 8


@dataclass(frozen=True)
class Point:
    """A budget, the plan within it, and its replay."""

    budget: int
    plan: Plan
    result: Simulation

    @property
    def seconds(self) -> float:
        """Seconds of a step."""
        return self.result.seconds


def point(budget: int, plan_for: PlanFor, model: CostModel) -> Point:
    """The plan within a budget, replayed."""
    plan = plan_for(budget)
    return Point(budget, plan, simulate(plan, model(plan.program)))


def speed_curve(
    budgets: Sequence[int], plan_for: PlanFor, model: CostModel
) -> list[Point]:
    """One point for each budget, none of which is below the least."""
    return [point(budget, plan_for, model) for budget in budgets]


def memory_without_loss(
    least: int, whole: int, plan_for: PlanFor, model: CostModel
) -> Point:
    """The smallest budget found that costs no more than LOSS of the speed.

    Args:
        least: bytes of the least memory.
        whole: bytes with which nothing need move.
    """
    best = point(whole, plan_for, model)
    allowed = best.seconds * (1 + LOSS)
    low, high = least, whole
    for _ in range(_HALVINGS):
        middle = (low + high) // 2
        found = point(middle, plan_for, model)
        if found.seconds <= allowed:
            best, high = found, middle
        else:
            low = middle
    return best
