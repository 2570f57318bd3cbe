"""Which layers a net has in one phase: include and exclude rules (FilterNet)."""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.errors import GraphError

PHASES = ("TRAIN", "TEST")  # in the order of caffe.proto's numbers


@dataclass(frozen=True)
class NetState:
    """What the rules are held against."""

    phase: str = "TRAIN"
    level: int = 0
    stages: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The state in a message."""
        stages = ", ".join(self.stages)
        named = f"stages {stages}" if stages else "no stages"
        return f"phase {self.phase}, level {self.level}, {named}"


def included(layer: Any, state: NetState, place: str = "") -> bool:
    """Whether `layer` (a LayerParameter) belongs to the net in this state.

    With include rules one of them must match; else no exclude rule may match.

    Raises:
        GraphError: it has rules of both kinds; `place` ("file:line") says where.
    """
    if layer.include and layer.exclude:
        where = f" at {place}" if place else ""
        raise GraphError(
            f"layer {layer.name!r} ({layer.type}){where} has include and exclude "
            "rules; give either include or exclude"
        )
    if layer.include:
        return any(matches(rule, state) for rule in layer.include)
    return not any(matches(rule, state) for rule in layer.exclude)


def matches(rule: Any, state: NetState) -> bool:
    """Whether a NetStateRule holds: every condition that it states must hold."""
    if rule.HasField("phase") and ("TRAIN", "TEST")[rule.phase] != state.phase:
        return False
    if rule.HasField("min_level") and state.level < rule.min_level:
        return False
    if rule.HasField("max_level") and state.level > rule.max_level:
        return False
    return all(s in state.stages for s in rule.stage) and not any(
        s in state.stages for s in rule.not_stage
    )
