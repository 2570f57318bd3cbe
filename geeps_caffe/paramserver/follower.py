"""Holds a program to its recording: the calls must come in the recorded order."""

from typing import NoReturn

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.recording import Access, Kind, Recording


class Follower:
    """Where a program is in a recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._accesses = recording.accesses
        self._place = 0

    @property
    def started(self) -> bool:
        """Whether the program is in the midst of an iteration."""
        return self._place > 0

    @property
    def expected(self) -> Access:
        """The call that must come next."""
        return self._accesses[self._place]

    def step(self, kind: Kind, handle: int | None = None) -> Access:
        """Take one call, or refuse it; after the last one the first is due again.

        Raises:
            ParameterServerError: says which call was expected and which came.
        """
        access = self._accesses[self._place]
        other = kind is not Kind.CLOCK and handle != access.handle
        if access.kind is not kind or other:
            self._refuse(kind, handle)
        self._place += 1
        if self._place == len(self._accesses):
            self._place = 0
        return access

    def _refuse(self, kind: Kind, handle: int | None) -> NoReturn:
        call = f"{kind.value}({'' if handle is None else handle})"
        where = f"recording {self.recording.name!r}, call {self._place}"
        raise ParameterServerError(
            f"{where}: expected {self.expected}, got {call}; the calls of an iteration "
            "must come as they were recorded"
        )
