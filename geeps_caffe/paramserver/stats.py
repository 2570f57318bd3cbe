"""What the parameter server counts: waiting, bytes and staleness of each table."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field


@dataclass
class TableStats:
    """Of one table, since the start; seconds and bytes are this worker's."""

    pulls: int = 0
    pushes: int = 0
    pull_bytes: int = 0  # made visible to this worker, copied or not
    push_bytes: int = 0
    wait_seconds: float = 0.0  # blocked until fresh values were there
    push_seconds: float = 0.0
    staleness: dict[int, int] = field(default_factory=dict)  # clocks behind: how often

    def count_pull(self, nbytes: int, seconds: float, behind: int) -> None:
        """Values arrived that lack the last `behind` clocks."""
        self.pulls += 1
        self.pull_bytes += nbytes
        self.wait_seconds += seconds
        self.staleness[behind] = self.staleness.get(behind, 0) + 1

    def count_push(self, nbytes: int, seconds: float) -> None:
        """An update was handed in."""
        self.pushes += 1
        self.push_bytes += nbytes
        self.push_seconds += seconds


class Stats:
    """The counters of one worker, by the tables' names."""

    def __init__(self, rank: int, ranks: int, tables: Iterable[str] = ()) -> None:
        self.rank = rank
        self.ranks = ranks
        self.clocks = 0
        self.names = list(tables)
        self.tables = [TableStats() for _ in self.names]

    def as_json(self) -> str:
        """All counters; the keys are those of the fields."""
        tables = {
            name: asdict(table)
            for name, table in zip(self.names, self.tables, strict=True)
        }
        whole = {"rank": self.rank, "ranks": self.ranks, "clocks": self.clocks}
        return json.dumps({**whole, "tables": tables})
