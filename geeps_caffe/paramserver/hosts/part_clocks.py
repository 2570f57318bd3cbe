"""Which clocks the pieces of a host's block hold, and which may come next."""

from collections.abc import Sequence

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.scheme import ASYNC, Scheme


class PartClocks:
    """The clocks of all pieces, which are counted by table.

    A source hands in a clock only when all are at most its slack behind. So a clock
    that is further ahead, or comes again, is nothing that a worker of ours sends.

    Of a table that all hosts have `whole` each tells its workers of a clock when it has
    it itself: the others may be a clock behind.
    """

    def __init__(
        self, scheme: Scheme, counts: Sequence[int], whole: Sequence[bool] = ()
    ) -> None:
        self._scheme = scheme
        self._ahead = [
            (table.slack + 1) * (2 if any(whole[index : index + 1]) else 1)
            for index, table in enumerate(scheme.tables)
        ]
        self.applied = [[-1] * count for count in counts]  # by table and piece
        #: By source and piece, of tables where each update is applied when it comes.
        self._last: list[dict[tuple[int, int], int]] = [{} for _ in counts]

    def take(self, source: int, table: int, clock: int, piece: int) -> None:
        """A piece of a source's update has come.

        Raises:
            ParameterServerError: its clock is a wrong one.
        """
        slack = self._scheme.tables[table].slack
        if slack == ASYNC:
            last = self._last[table].get((source, piece), -1)
            good = clock > last
            self._last[table][source, piece] = max(clock, last)
        else:
            last = self.applied[table][piece]
            good = last < clock <= last + self._ahead[table]
        if not good:
            self._refuse(source, table, clock, last)

    def take_nothing(self, source: int, table: int, clock: int, known: bool) -> None:
        """A source has no update in a clock; `known`: it was heard of in this clock.

        Raises:
            ParameterServerError: the clock has been.
        """
        bounded = self._scheme.tables[table].slack != ASYNC
        last = min(self.applied[table]) if bounded else -1
        if known or clock <= last:
            self._refuse(source, table, clock, last)

    def _refuse(self, source: int, table: int, clock: int, last: int) -> None:
        raise ParameterServerError(
            f"table {self._scheme.tables[table].name!r}: clock {clock} of source "
            f"{source} does not follow clock {last}"
        )
