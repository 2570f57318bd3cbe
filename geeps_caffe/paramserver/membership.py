"""Who takes part, where everyone is, and who is waited for. No I/O.

Times are seconds of any steady clock; the caller says what time it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.messages import Message, Missing, Waiting


@dataclass
class _Member:
    heard: float  # when it last said anything
    moved: float  # when it last got ahead
    pid: int | None = None  # None: never came
    clock: int = -1  # its last closed clock
    stops: int = 0  # how many meetings and clocks it has come to
    left: bool = False


class Membership:
    """All ranks of a run.

    Args:
        hosts: the name of each rank's host.
        limits: how long a wait may last.
        now: seconds.
        watched: ranks whose signs of life come here; None: all.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        limits: Limits,
        now: float,
        watched: Sequence[int] | None = None,
    ) -> None:
        self._limits = limits
        self._hosts = hosts
        self._members = [_Member(now, now) for _ in hosts]
        self._watched = range(len(hosts)) if watched is None else watched
        self._reported = now

    def joined(self, rank: int, pid: int, now: float) -> None:
        """A worker has said hello."""
        self._members[rank].pid = pid
        self.moved(rank, now)

    def came(self, rank: int, pid: int, now: float) -> None:
        """A worker has said hello; where others wait for it is known elsewhere."""
        self._members[rank].pid = pid
        self.heard(rank, now)

    def heard(self, rank: int, now: float) -> None:
        """A worker gave a sign of life."""
        self._members[rank].heard = now

    def moved(self, rank: int, now: float, clock: int | None = None) -> None:
        """A worker came to a meeting, or closed a clock."""
        member = self._members[rank]
        member.heard = member.moved = now
        member.stops += 1
        if clock is not None:
            member.clock = clock

    def closed(self, rank: int, clock: int) -> None:
        """A worker has closed a clock; where others wait for it is known elsewhere."""
        self._members[rank].clock = clock

    def clock(self, rank: int) -> int:
        """A worker's last closed clock."""
        return self._members[rank].clock

    def left(self, rank: int) -> None:
        """A worker said goodbye."""
        self._members[rank].left = True

    def has_joined(self, rank: int) -> bool:
        """Whether the worker ever said hello."""
        return self._members[rank].pid is not None

    def has_left(self, rank: int) -> bool:
        """Whether the worker said goodbye."""
        return self._members[rank].left

    @property
    def all_left(self) -> bool:
        """Whether nobody of those that are watched is there any more."""
        return all(self._members[rank].left for rank in self._watched)

    def describe(self, rank: int) -> str:
        """Who and where: rank, host, process, last clock."""
        member = self._members[rank]
        host = self._hosts[rank]
        if member.pid is None:
            return f"rank {rank} (host {host}), which has not joined"
        return (
            f"rank {rank} (host {host}, process {member.pid}), its last clock "
            f"was {member.clock}"
        )

    def lost(self, now: float) -> str | None:
        """Why the run can't go on, if a worker is silent or stuck for too long."""
        for rank, member in enumerate(self._members):
            if member.left:
                continue
            joined = member.pid is not None
            allowed = self._limits.silence if joined else self._limits.join
            if rank in self._watched and now - member.heard > allowed:
                return self._lost(rank, "no sign of life", now - member.heard)
            stuck = min(self._since(rank, now), now - member.moved)
            if stuck > self._limits.stall:
                return self._lost(rank, "no progress", stuck)
        return None

    def _lost(self, rank: int, what: str, seconds: float) -> str:
        return f"{what} for {seconds:.0f} s from {self.describe(rank)}"

    def news(self, now: float) -> list[Message]:
        """What all workers are to be told of waits."""
        waiting, missing = self.waiting(now), self.missing(now)
        told: list[Message] = [Waiting(waiting)] if waiting else []
        return [*told, Missing(missing)] if missing else told

    def waiting(self, now: float) -> str | None:
        """For whom the others wait, at most once per `limits.report` seconds."""
        if now - self._reported < self._limits.report:
            return None
        text = self._longest(now, left=False)
        if text is not None:
            self._reported = now
        return text and f"waiting for {text}"

    def missing(self, now: float) -> str | None:
        """Who has left while others wait for it; as often as it is asked."""
        text = self._longest(now, left=True)
        return text and f"no more comes from {text}"

    def _longest(self, now: float, left: bool) -> str | None:
        """The first rank that others wait for, of those that have left or not."""
        for rank, member in enumerate(self._members):
            since = self._since(rank, now)
            if member.left == left and since >= self._limits.report:
                return f"{self.describe(rank)}, since {since:.0f} s"
        return None

    def _since(self, rank: int, now: float) -> float:
        """How long others, further than this rank, have been waiting for it."""
        mine = self._members[rank].stops
        ahead = [m.moved for m in self._members if not m.left and m.stops > mine]
        return now - min(ahead) if ahead else 0.0
