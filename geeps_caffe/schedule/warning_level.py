"""GeePS's mm_warning_level: what a plan must not lose for want of memory."""

from collections import Counter
from collections.abc import Iterable

from geeps_caffe.config.units import show_bytes
from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.algorithm2 import LEVELS
from geeps_caffe.schedule.instructions import SwapIn, SwapOut
from geeps_caffe.schedule.plan import Plan


def check_level(plan: Plan, level: int) -> None:
    """Refuse a plan that has not what a level asks for.

    Level 1: every copy to the arena begins before the instruction that precedes its
    use is done. Level 2: only params and gradients move. Level 3: and these once.

    Raises:
        PlanError: names the largest arrays that are in the way.
    """
    for below in range(1, level + 1):
        names = set(_LACKING[below](plan))
        if names:
            raise PlanError(_message(plan, level, below, names))


def _not_ahead(plan: Plan) -> Iterable[str]:
    """What is copied in just before it is used."""
    coming: list[str] = []
    for entry, places in zip(plan.instructions, plan.places, strict=True):
        if isinstance(entry, SwapIn):
            coming.append(entry.storage)
        elif not isinstance(entry, SwapOut):
            yield from (name for name in coming if name in places)
            coming = []


def _not_local(plan: Plan) -> Iterable[str]:
    """Local arrays that move."""
    return (name for name in _moved(plan) if name not in plan.program.leases)


def _not_once(plan: Plan) -> Iterable[str]:
    """Leases that move more often than from or to the parameter server."""
    most = 2 if plan.program.options.accumulate else 1
    return (name for name, count in _moved(plan).items() if count > most)


def _moved(plan: Plan) -> Counter[str]:
    swaps = (i for i in plan.instructions if isinstance(i, SwapIn | SwapOut))
    return Counter(entry.storage for entry in swaps)


_LACKING = {1: _not_ahead, 2: _not_local, 3: _not_once}


def _message(plan: Plan, level: int, lacking: int, names: set[str]) -> str:
    sizes = plan.program.storage_bytes()
    largest = sorted(names, key=lambda name: (-sizes[name], name))[:3]
    shown = ", ".join(f"{name} {sizes[name]:,}" for name in largest)
    given = "any memory" if plan.budget is None else show_bytes(plan.budget)
    return (
        f"mm_warning_level {level} asks for {LEVELS[lacking]}, which {given} has no "
        f"room for: {len(names)} arrays are in the way ({shown}). Give more memory, a "
        "smaller batch or a lower level"
        + (", or name a device with -costs, for copies ahead of need" * (lacking == 1))
    )
