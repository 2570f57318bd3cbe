"""What letters of other hosts may say: checked before anything is done with them."""

from dataclasses import dataclass

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.peer_messages import Part, PeerMessage, Rows
from geeps_caffe.paramserver.hosts.pieces import Cuts, Piece
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.wire_types import WireType
from geeps_caffe.paramserver.scheme import ASYNC, Scheme


@dataclass(frozen=True)
class LetterRules:
    """One host's view. All checks raise ParameterServerError, which says what is wrong.

    `cuts` are those of all tables.
    """

    scheme: Scheme
    cuts: Cuts
    places: Places
    wire: WireType

    def check_table(self, table: int) -> None:
        """There is such a table."""
        if not 0 <= table < len(self.cuts.pieces):
            raise ParameterServerError(f"there is no table {table}")

    def check_source(self, host: int, table: int, source: int) -> None:
        """The host may speak for this source of updates."""
        self.check_table(table)
        if self.scheme.tables[table].slack == ASYNC:
            known = source in self.places.ranks_of(host)
        else:
            known = source == host
        if not known:
            raise ParameterServerError(f"host {host} sent an update of {source}")

    def check_part(self, host: int, part: Part, data: Array) -> None:
        """An update's piece is one of this host's block, and whole."""
        self.check_source(host, part.table, part.source)
        block = self.cuts.block(part.table, self.places.host)
        piece = self._piece(block, part)
        self._check_bytes(part, part.table, piece, data)

    def check_rows(self, host: int, rows: Rows, data: Array) -> Piece:
        """Fresh rows are a piece of the sender's block, whole or unchanged."""
        self.check_table(rows.table)
        if self.cuts.whole[rows.table]:
            raise ParameterServerError(f"{rows}, which no host sends of a small table")
        alone = self.scheme.tables[rows.table].slack == ASYNC
        if rows.source not in (range(self.places.ranks) if alone else (-1,)):
            raise ParameterServerError(f"{rows}, which names a source that is none")
        piece = self._piece(self.cuts.pieces[rows.table][host], rows)
        if data.nbytes:
            self._check_bytes(rows, rows.table, piece, data)
        return piece

    def _piece(self, block: list[Piece], message: Part | Rows) -> Piece:
        if not 0 <= message.piece < len(block):
            raise ParameterServerError(f"there is no place for {message}")
        return block[message.piece]

    def _check_bytes(
        self, message: PeerMessage, table: int, piece: Piece, data: Array
    ) -> None:
        dtype = self.scheme.tables[table].dtype
        expected = self.wire.nbytes(piece.size, dtype)
        if data.nbytes != expected:
            raise ParameterServerError(
                f"{message} has {data.nbytes} bytes instead of {expected}"
            )
