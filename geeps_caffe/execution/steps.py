"""What a step walks: calls in order, and CUDA graphs in their place once it is warm."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from geeps_caffe.device.device import Call, Device
from geeps_caffe.device.events import Step
from geeps_caffe.device.streams import COMPUTE
from geeps_caffe.schedule.hand_overs import plan_steps
from geeps_caffe.schedule.instructions import Clock, Instruction, Load, Table
from geeps_caffe.schedule.plan import Plan
from geeps_caffe.schedule.segments import find_segments

_LOG = logging.getLogger(__name__)

#: Steps before anything is captured: libraries load and take memory at first use.
WARM_UP = 2


class StepCalls:
    """The calls of one step of a plan, `in_order`, and what stands for them later.

    Args:
        plan: what the step does.
        device: puts calls in order, and captures them where it can.
        calls: of the plan's instructions.
        graphs: whether to capture what may be captured.
    """

    def __init__(
        self, plan: Plan, device: Device, calls: Sequence[Call], *, graphs: bool
    ) -> None:
        self._plan, self._device, self._calls = plan, device, calls
        self._runs = 0
        self._graphs = graphs and device.captures
        self._steps = [] if device.on_host else _queued(plan)
        #: The call of each instruction, with what it waits for.
        self.in_order = device.in_order(self._steps, calls)
        self._now: Sequence[Call] = self.in_order

    def next(self) -> Sequence[Call]:
        """The calls of the next step."""
        if self._graphs and self._runs == WARM_UP:
            self._capture()
        self._runs += 1
        return self._now

    def _capture(self) -> None:
        segments = find_segments(self._plan)
        if not any(part.captured for part in segments):
            return
        try:
            self._now = self._device.with_graphs(segments, self._steps, self._calls)
        except RuntimeError as error:
            why = " ".join(str(error).split())
            _LOG.warning("no CUDA graphs (%s): steps are launched call by call", why)


def _queued(plan: Plan) -> list[Step]:
    """The plan's steps on the queues of a device."""
    entries = zip(plan.instructions, plan_steps(plan), strict=True)
    on_device = not plan.program.leases
    return [
        replace(step, queue=_queue(entry, step.queue, on_device))
        for entry, step in entries
    ]


def _queue(instruction: Instruction, queue: str, on_device: bool) -> str:
    """Sources write by way of computing; tables on the device are updated there."""
    if isinstance(instruction, Load):
        return COMPUTE
    if isinstance(instruction, Table | Clock) and on_device:
        return COMPUTE
    return queue
