"""When instructions run if nothing stalls, in seconds from the start of the step."""

from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.schedule.costs import Costs
from geeps_caffe.schedule.stays import Gap


@dataclass(frozen=True)
class Timeline:
    """Starts of this step's and the next step's instructions; `costs` of copies."""

    starts: Array  # length 2 n + 1; instruction i ends at starts[i + 1]
    length: int
    costs: Costs

    @property
    def step(self) -> float:
        """Seconds of a step."""
        return float(self.starts[self.length])

    def window(self, gap: Gap) -> float:
        """Seconds between the touches around a gap."""
        return float(self.starts[gap.before] - self.starts[gap.after + 1])

    def done_by(self, position: int, seconds: float) -> int:
        """The first instruction that starts `seconds` after `position` ended."""
        when = self.starts[position + 1] + seconds
        return int(np.searchsorted(self.starts, when - 1e-12))

    def begun_by(self, position: int, seconds: float) -> int:
        """The last instruction that starts `seconds` before `position`."""
        when = self.starts[position] - seconds
        return max(int(np.searchsorted(self.starts, when + 1e-12, "right")) - 1, 0)


def timeline(costs: Costs) -> Timeline:
    """The timeline of a program's costs."""
    starts = np.concatenate(([0.0], np.cumsum(np.tile(costs.seconds, 2))))
    return Timeline(starts, len(costs.seconds), costs)
