"""The norm of the whole gradient of a clock, from all tables of all shards."""

from geeps_caffe.paramserver.messages import Squares


class Norms:
    """Notes which tables are complete and what the shards' parts are.

    `tables` are those that clip_gradients is about.
    """

    def __init__(self, tables: list[int], shard: int, shards: int) -> None:
        self.tables = tables
        self.shard = shard
        self.others = [other for other in range(shards) if other != shard]
        self._complete: dict[int, set[int]] = {}  # clock: tables
        self._parts: dict[int, dict[int, float]] = {}  # clock: shard: sum of squares

    def note(self, table: int, clock: int) -> None:
        """All workers have pushed the table."""
        self._complete.setdefault(clock, set()).add(table)

    def complete(self) -> list[tuple[int, list[int]]]:
        """The clocks, each once, of which all tables are here; oldest first."""
        due = [c for c, have in sorted(self._complete.items()) if self._all(have)]
        for clock in due:
            del self._complete[clock]
        return [(clock, self.tables) for clock in due]

    def _all(self, tables: set[int]) -> bool:
        return len(tables) == len(self.tables)

    def hear(self, part: Squares) -> float | None:
        """The sum of all shards' parts, in shard order, once all are known."""
        parts = self._parts.setdefault(part.clock, {})
        parts[part.shard] = part.total
        if len(parts) < 1 + len(self.others):
            return None
        del self._parts[part.clock]
        return sum(parts[shard] for shard in sorted(parts))
