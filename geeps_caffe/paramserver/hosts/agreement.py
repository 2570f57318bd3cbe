"""All workers of all hosts propose the same tables, or the difference is told."""

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.peer_messages import Ready
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.messages import Propose
from geeps_caffe.paramserver.scheme import Scheme, difference, read_scheme

LONGEST_TEXT = 1 << 20  # bytes of a scheme's text that travels; the digest decides


class Agreement:
    """One host's part: its workers' proposals, and what other hosts are ready with."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._proposals: dict[int, Scheme] = {}
        self._ready: dict[int, tuple[bytes, str]] = {}  # digest and text, by host
        self._local: Scheme | None = None

    def propose(self, rank: int, proposal: Propose) -> Scheme | None:
        """A local worker's tables; returns them when all workers here agree.

        Raises:
            ParameterServerError: another worker has proposed others, or this one
                proposes again.
        """
        if rank in self._proposals:
            raise ParameterServerError(f"rank {rank} proposes tables a second time")
        scheme = read_scheme(proposal.scheme)
        for other, known in self._proposals.items():
            if known.digest != scheme.digest:
                names = f"rank {other}", f"rank {rank}"
                self._differ(known.text, scheme.text, *names)
        self._proposals[rank] = scheme
        if len(self._proposals) == len(self._places.local):
            self._local = scheme
        return self._local

    @property
    def local(self) -> Scheme | None:
        """What all workers here propose, once they do."""
        return self._local

    def ready(self, host: int, digest: bytes, text: str) -> None:
        """All workers of another host agree.

        Raises:
            ParameterServerError: it has said so before.
        """
        if host in self._ready:
            raise ParameterServerError("it is ready with its tables a second time")
        self._ready[host] = digest, text

    def reached(self) -> Scheme | None:
        """The tables, once all hosts are ready with the same.

        Raises:
            ParameterServerError: a host is ready with others.
        """
        if self._local is None or len(self._ready) < len(self._places.others):
            return None
        for host in self._places.others:
            digest, text = self._ready[host]
            if digest.hex() != self._local.digest:
                names = (self._places.describe(h) for h in (self._places.host, host))
                self._differ(self._local.text, text, *names)
        return self._local

    def _differ(self, mine: str, theirs: str, my_name: str, their_name: str) -> None:
        raise ParameterServerError(
            f"{my_name} and {their_name} do not share the same tables:\n"
            + difference(mine, theirs, my_name, their_name)
        )


def ready_letter(scheme: Scheme) -> tuple[Ready, bytes]:
    """What tells another host of these tables: the message and its payload."""
    return Ready(bytes.fromhex(scheme.digest)), scheme.text.encode()[:LONGEST_TEXT]
