"""How long each layer's passes take."""

import time
from dataclasses import dataclass, field

from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.schedule.instructions import Clock, Instruction, Table


@dataclass
class LayerTimes:
    """Seconds since the start, by layer and direction; waiting for tables apart."""

    seconds: dict[str, dict[str, float]] = field(default_factory=dict)

    def step(self, net: PlannedNet, first: bool) -> None:
        """One batch forward and backward, with a look at the clock after each call."""
        owners = net.executor.plan.owners()
        last = time.perf_counter()

        def after(position: int, instruction: Instruction) -> None:
            nonlocal last
            now = time.perf_counter()
            index, backward = owners[position]
            what = "backward" if backward else "forward"
            if isinstance(instruction, Table | Clock):
                what = "tables"
            times = self.seconds.setdefault(net.graph.nodes[index].name, {})
            times[what] = times.get(what, 0.0) + now - last
            last = now

        net.executor.watch(first, after)
