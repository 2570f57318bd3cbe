"""Which connections are hosts of the run: those whose first letter greets rightly."""

from collections import deque
from collections.abc import Callable

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.passport import Passport, compare, read_passport
from geeps_caffe.paramserver.hosts.peer_messages import Greeting, PeerMessage
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.strangers import Strangers
from geeps_caffe.paramserver.transport.network import Ended

MOST_TURNED_AWAY = 1000  # strangers that are known again


class Guests:
    """Connections by the names that ZeroMQ gives them.

    Args:
        places: all hosts.
        passport: what a greeting must agree with.
        channels: connections of each host.
        answer: tells a stranger why it is refused.
    """

    def __init__(
        self,
        places: Places,
        passport: Passport,
        channels: int,
        answer: Callable[[bytes, str], None],
    ) -> None:
        self._places, self._passport = places, passport
        self._channels, self._answer = channels, answer
        self._hosts: dict[bytes, int] = {}  # connections that have greeted
        self._refused: list[Ended] = []
        self._turned_away: deque[bytes] = deque(maxlen=MOST_TURNED_AWAY)
        self.warn = Strangers().warn  # tells the log

    def find(self, sender: bytes) -> int | None:
        """The host behind a connection; None before it has greeted."""
        return self._hosts.get(sender)

    def admit(self, sender: bytes, message: PeerMessage, data: Array) -> int:
        """The host that a new connection's first letter greets for.

        Raises:
            ParameterServerError: says why it may not come in.
        """
        if not isinstance(message, Greeting):
            raise ParameterServerError("a connection without a greeting")
        host, own = message.host, self._places.host
        if host not in self._places.others or message.receiver != own:
            reason = (
                f"a greeting of host number {host} for host number {message.receiver}, "
                f"where this is number {own} of {self._places.hosts}; do all have the "
                "same machine file, and each its own -worker_id?"
            )
            if host in self._places.others:
                self._refused.append(Ended(host, reason, True))
            raise ParameterServerError(reason)
        known = sum(other == host for other in self._hosts.values())
        if known >= self._channels:
            raise ParameterServerError(
                f"a second host number {host}, or one that has more -channels"
            )
        self._compare(host, read_passport(data.tobytes()))
        self._hosts[sender] = host
        return host

    def _compare(self, host: int, other: Passport) -> None:
        lines = compare(self._passport, other)
        if not lines:
            return
        mine = self._places.describe(self._places.host)
        reason = (
            f"{self._places.describe(host)} does not run the same job as {mine}; "
            "they have:\n" + "\n".join(lines)
        )
        self._refused.append(Ended(host, reason, True))
        raise ParameterServerError(reason)

    def refuse(self, sender: bytes, reason: str) -> None:
        """Tell a stranger, and the log, once; nothing else changes.

        What it had sent before it heard so is not told of.
        """
        if sender in self._turned_away:
            return
        self._turned_away.append(sender)
        self.warn(reason)
        self._answer(sender, reason)

    def refused(self) -> list[Ended]:
        """Greetings that did not fit, since the last call."""
        refused, self._refused = self._refused, []
        return refused
