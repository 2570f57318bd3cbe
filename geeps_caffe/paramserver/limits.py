"""How long a wait may last."""

from dataclasses import dataclass

BEATS = 6  # signs of life that fail to come, until a peer counts as silent


@dataclass(frozen=True)
class Limits:
    """In seconds. A peer is lost when it is silent or stuck for too long."""

    join: float = 300.0  # from the start until a worker connects
    silence: float = 60.0  # without any sign of life from a peer
    stall: float = 3600.0  # all waiting for a peer that lives but does not proceed
    report: float = 10.0  # between two lines in the log about a wait
    grace: float = 10.0  # for workers to end by themselves, once the run is over

    @property
    def beat(self) -> float:
        """Between two signs of life."""
        return self.silence / BEATS
