"""Speed against memory: what a program loses when it may use less."""

from collections.abc import Callable
from typing import TypeAlias

from geeps_caffe.schedule.plan import Plan

#: Makes the plan of a program within a budget; None: without a limit.
PlanFor: TypeAlias = Callable[[int | None], Plan]
#: What a plan costs: seconds of a step, or bytes that it moves.
LossOf: TypeAlias = Callable[[Plan], float]
LOSS = 0.01  # so much more is called no loss
_HALVINGS = 7


def memory_without_loss(
    least: int, whole: int, plan_for: PlanFor, loss_of: LossOf
) -> int:
    """The smallest budget that costs hardly more than plenty, to within a hundredth.

    Args:
        least: bytes of the least memory.
        whole: bytes with which nothing need move.
    """
    allowed = loss_of(plan_for(whole)) * (1 + LOSS)
    if loss_of(plan_for(least)) <= allowed:
        return least
    low, high = least, whole
    for _ in range(_HALVINGS):
        middle = (low + high) // 2
        if loss_of(plan_for(middle)) <= allowed:
            high = middle
        else:
            low = middle
    return high
