"""The norm of the whole gradient of a clock, from all tables of all shards."""


class Norms:
    """Notes which tables are complete and what the shards' parts of the norm are.

    `tables` are those that clip_gradients is about.
    """

    def __init__(self, tables: list[int], shards: int = 1) -> None:
        self.tables = tables
        self._shards = shards
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

    def hear(self, shard: int, clock: int, total: float) -> float | None:
        """The sum of all shards' parts, in shard order, once all are known."""
        parts = self._parts.setdefault(clock, {})
        parts[shard] = total
        if len(parts) < self._shards:
            return None
        del self._parts[clock]
        return sum(parts[other] for other in sorted(parts))
