"""The simulator's core: replays a plan with a cost per instruction, on one device.

Instructions are handed to their queues in the plan's order, without delay. A queue runs
its instructions one after the other; where a hand-over needs an event, the later waits
for the earlier. A few iterations are replayed, since copies of one may reach into the
next; the last ones are what a step takes.
"""

from collections import defaultdict
from dataclasses import dataclass

from geeps_caffe.schedule.costs import Costs
from geeps_caffe.schedule.hand_overs import hand_overs
from geeps_caffe.schedule.instructions import Instruction, SwapIn, SwapOut
from geeps_caffe.schedule.plan import Plan

ITERATIONS = 5  # replayed
_STEADY = 3  # of these, the last ones are averaged
COMPUTE = "compute"


@dataclass(frozen=True)
class Stall:
    """Seconds that computing waited before an instruction of the plan."""

    position: int
    seconds: float
    cause: int  # the instruction that it waited for last


@dataclass(frozen=True)
class Simulation:
    """What a replay found, for one step."""

    seconds: float
    computing: float  # seconds of the compute queue's instructions
    busy: dict[str, float]  # seconds by queue
    stalls: tuple[Stall, ...]  # of the last iteration, the longest first
    moved: int  # bytes of swaps, both ways

    @property
    def speed(self) -> float:
        """Share of the speed that computing alone would have."""
        return self.computing / self.seconds if self.seconds else 1.0


def simulate(plan: Plan, costs: Costs) -> Simulation:
    """Replay a plan."""
    queues = [_queue(entry, costs) for entry in plan.instructions]
    seconds = _seconds(plan, costs)
    waits = hand_overs(plan) if costs.overlap else {}
    free: dict[str, float] = defaultdict(float)
    ends: dict[int, float] = {}
    finished, stalls = [0.0], []
    for iteration in range(ITERATIONS):
        last = iteration == ITERATIONS - 1
        for position, queue in enumerate(queues):
            cause = max(
                waits.get(position, ()), key=lambda w: ends.get(w, 0.0), default=-1
            )
            start = max(free[queue], ends.get(cause, 0.0))
            if last and queue == COMPUTE and start > free[queue]:
                stalls.append(Stall(position, start - free[queue], cause))
            free[queue] = ends[position] = start + seconds[position]
        finished.append(free[COMPUTE] if waits else max(free.values(), default=0.0))
    busy: dict[str, float] = defaultdict(float)
    for queue, cost in zip(queues, seconds, strict=True):
        busy[queue] += cost
    own = (
        cost
        for entry, cost in zip(plan.instructions, seconds, strict=True)
        if not isinstance(entry, SwapIn | SwapOut)
    )
    return Simulation(
        seconds=(finished[-1] - finished[-1 - _STEADY]) / _STEADY,
        computing=sum(own),
        busy=dict(busy),
        stalls=tuple(sorted(stalls, key=lambda s: -s.seconds)),
        moved=plan.moved_bytes,
    )


def _queue(entry: Instruction, costs: Costs) -> str:
    """The queue of an instruction; a device that copies itself has but one."""
    if not costs.overlap:
        return COMPUTE
    return entry.queue


def _seconds(plan: Plan, costs: Costs) -> list[float]:
    sizes = plan.program.storage_bytes()
    found = []
    for entry, origin in zip(plan.instructions, plan.origin, strict=True):
        if isinstance(entry, SwapIn):
            found.append(costs.in_seconds(sizes[entry.storage]))
        elif isinstance(entry, SwapOut):
            found.append(costs.out_seconds(sizes[entry.storage]))
        else:
            found.append(costs.seconds[origin])
    return found
