"""What is wrong with a plan, and at which of its instructions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that makes a plan wrong.

    `position` is that of the instruction in the plan; one behind the last where what
    is there after the step is meant.
    """

    position: int
    sentence: str
