"""Which ranks work on which host."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True)
class Places:
    """All hosts of a run, seen from one of them. Ranks are numbered host by host.

    `names` are for messages; one host may be named several times, if several agents
    run on it.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]  # workers of each host
    host: int = 0  # this one

    @cached_property
    def hosts(self) -> int:
        """How many there are."""
        return len(self.counts)

    @property
    def ranks(self) -> int:
        """All workers together."""
        return sum(self.counts)

    @cached_property
    def _ends(self) -> Sequence[int]:
        return list(accumulate(self.counts))

    def ranks_of(self, host: int) -> range:
        """The workers of a host."""
        end = self._ends[host]
        return range(end - self.counts[host], end)

    def host_of(self, rank: int) -> int:
        """Where a worker is."""
        return next(h for h, end in enumerate(self._ends) if rank < end)

    @cached_property
    def local(self) -> range:
        """The workers of this host."""
        return self.ranks_of(self.host)

    @cached_property
    def others(self) -> list[int]:
        """All hosts but this one."""
        return [host for host in range(self.hosts) if host != self.host]

    def describe(self, host: int) -> str:
        """A host and its ranks, for messages."""
        ranks = self.ranks_of(host)
        which = f"rank {ranks[0]}"
        if len(ranks) > 1:
            which = f"ranks {ranks[0]} to {ranks[-1]}"
        return f"host {self.names[host]} ({which})"
