"""What pycaffe's Net is made with besides its file, in the forms that it knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geeps_caffe.caffe.mode import TEST, TRAIN
from geeps_caffe.config.file_list import files_in
from geeps_caffe.errors import UsageError
from geeps_caffe.graph.filter import NetState

_NAMES = ("phase", "level", "stages", "weights")
_OLD_NAMES = ("weights", "phase")
_PHASES = {TRAIN: "TRAIN", TEST: "TEST"}


@dataclass(frozen=True)
class NetArguments:
    """Arguments of Net by their names."""

    phase: int | None = None
    level: int = 0
    stages: Sequence[str] | None = None
    weights: str | None = None

    @property
    def state(self) -> NetState:
        """The state that the net is filtered by.

        Raises:
            UsageError: no phase, or none that there is.
        """
        if self.phase not in _PHASES:
            raise UsageError(
                f"Net: phase is {self.phase!r}; expected TRAIN or TEST of geeps_caffe, "
                "as in Net(file, geeps_caffe.TEST)"
            )
        return NetState(_PHASES[self.phase], self.level, tuple(self.stages or ()))

    @property
    def weight_files(self) -> list[str]:
        """Files to copy weights from, in this order."""
        return files_in(str(self.weights or ""))


def read_arguments(args: Sequence[Any], named: dict[str, Any]) -> NetArguments:
    """Arguments after the file: (phase, level, stages, weights) or (weights, phase).

    Raises:
        UsageError: there are more, or one is given twice.
    """
    names = _OLD_NAMES if args and isinstance(args[0], str) else _NAMES
    if len(args) > len(names):
        raise UsageError(
            f"Net: {len(args)} arguments after the file; expected {', '.join(names)}"
        )
    found = dict(zip(names, args, strict=False))
    twice = sorted(found.keys() & named.keys())
    if twice:
        raise UsageError(f"Net: {', '.join(twice)} given by place and by name")
    return NetArguments(**found, **named)
