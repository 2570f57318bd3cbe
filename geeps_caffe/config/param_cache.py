"""Where a device keeps params: leases used in place, or a cache in its arena."""

from collections.abc import Iterable
from dataclasses import dataclass

from geeps_caffe.errors import UsageError, unknown

PLACEMENTS = ("pinned", "swapped")


@dataclass(frozen=True)
class ParamCache:
    """Params and gradients pass through the arena, table by table.

    A pinned table's params are copied in once a clock and stay until their last use;
    those of a swapped one may leave in between, as the planner sees fit.
    """

    default: str = "swapped"
    tables: tuple[tuple[str, str], ...] = ()  # those that differ: name, placement

    def pins(self, table: str) -> bool:
        """Whether a table is pinned."""
        return dict(self.tables).get(table, self.default) == "pinned"

    def check(self, known: Iterable[str]) -> None:
        """Refuse the name of a table that a net has not (UsageError)."""
        names = sorted(set(known))
        for table, _ in self.tables:
            if table not in names:
                raise UsageError(unknown("table of -param_cache", table, names))


def parse_param_cache(text: str) -> ParamCache | None:
    """Read a flag's value; None: leases are used in place.

    >>> parse_param_cache("pinned,fc8=swapped")
    ParamCache(default='pinned', tables=(('fc8', 'swapped'),))

    Raises:
        UsageError: a placement that is none.
    """
    if text in ("", "off"):
        return None
    default, tables = "swapped", []
    for part in text.split(","):
        table, equals, placement = part.strip().rpartition("=")
        if placement not in PLACEMENTS:
            raise UsageError(
                unknown("placement of -param_cache", placement, ("off", *PLACEMENTS))
            )
        if equals:
            tables.append((table, placement))
        else:
            default = placement
    return ParamCache(default, tuple(tables))
