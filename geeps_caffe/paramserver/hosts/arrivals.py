"""Which clocks a host's copy of the tables holds, as pieces come in from all blocks."""

from collections.abc import Sequence

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.pieces import Piece
from geeps_caffe.paramserver.scheme import ASYNC, Scheme


class Arrivals:
    """Counts pieces; a table has a clock when all pieces of all blocks have it."""

    def __init__(
        self, scheme: Scheme, pieces: Sequence[Sequence[Sequence[Piece]]], ranks: int
    ) -> None:
        self._scheme = scheme
        self._counts = [sum(len(block) for block in table) for table in pieces]
        self._here: list[dict[tuple[int, int], set[tuple[int, int]]]] = [
            {} for _ in scheme.tables
        ]
        #: The last clock of each piece, by table; where all sources count at once.
        self._pieces = [
            {(p.owner, p.index): -1 for block in table for p in block}
            for table in pieces
        ]
        self._applied = [
            [-1] * (ranks if table.slack == ASYNC else 1) for table in scheme.tables
        ]

    def age(self, table: int) -> int:
        """All updates up to this clock are in the table."""
        return min(self._applied[table])

    def clock_of(self, table: int, piece: Piece) -> int:
        """The last clock that a piece has in it."""
        return self._pieces[table][piece.owner, piece.index]

    def note(self, table: int, clock: int, source: int, owner: int, piece: int) -> bool:
        """A piece has the clock of a source (-1: of all); True if it is the last one.

        Raises:
            ParameterServerError: it came before.
        """
        key = source, clock
        here = self._here[table].setdefault(key, set())
        if (owner, piece) in here or clock <= self._applied[table][max(source, 0)]:
            name = self._scheme.tables[table].name
            raise ParameterServerError(
                f"table {name!r}: rows of clock {clock} came twice (piece {piece} of "
                f"host {owner})"
            )
        here.add((owner, piece))
        if source < 0:
            self._pieces[table][owner, piece] = clock
        if len(here) < self._counts[table]:
            return False
        del self._here[table][key]
        self._applied[table][max(source, 0)] = clock
        return True
