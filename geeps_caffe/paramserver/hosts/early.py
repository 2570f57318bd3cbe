"""Letters about tables that come before all hosts agree on them here."""

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.peer_messages import PeerMessage

LETTER_BYTES = 64  # what a letter counts for besides its payload


class EarlyLetters:
    """Keeps letters of hosts that have heard sooner that all agree."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, PeerMessage, Array]] = []
        self._nbytes = 0

    def keep(self, host: int, message: PeerMessage, data: Array, most: int) -> None:
        """Keep a letter, with a copy of its payload.

        Args:
            host: the sender.
            message: the letter.
            data: its payload.
            most: bytes of all that may be kept.

        Raises:
            ParameterServerError: that were more.
        """
        self._nbytes += data.nbytes + LETTER_BYTES
        if self._nbytes > most:
            raise ParameterServerError(
                f"more than {most} bytes about tables came before all hosts agreed on "
                "them"
            )
        self._kept.append((host, message, np.array(data)))

    def take(self) -> list[tuple[int, PeerMessage, Array]]:
        """All that were kept, in the order in which they came."""
        kept, self._kept = self._kept, []
        return kept
