"""What one host's agent knows of the other hosts: who has come, is silent, has gone."""

from dataclasses import dataclass

from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.limits import Limits


@dataclass
class _Peer:
    """Another host."""

    heard: float
    greeted: bool = False
    gone: bool = False
    released: bool = False  # it has heard that this host has gone
    refused: tuple[float, str] | None = None  # since when, and why


@dataclass(frozen=True)
class Missed:
    """Why the run can't go on; `refused`: a host is there, but of another job."""

    host: int
    reason: str
    refused: bool = False


class Peers:
    """All hosts but this one. Times are seconds of a steady clock."""

    def __init__(self, places: Places, limits: Limits, now: float) -> None:
        self._places, self._limits = places, limits
        self._peers = {host: _Peer(now) for host in places.others}

    def heard(self, host: int, now: float) -> None:
        """A letter has come."""
        self._peers[host].heard = now

    def greet(self, host: int) -> None:
        """A greeting that fits has come."""
        self._peers[host].greeted = True

    def has_greeted(self, host: int) -> bool:
        """Whether its greeting has come."""
        return self._peers[host].greeted

    def leave(self, host: int) -> None:
        """Its workers have all left in peace."""
        self._peers[host].gone = True

    def has_gone(self, host: int) -> bool:
        """Whether it has left in peace."""
        return self._peers[host].gone

    def release(self, host: int) -> None:
        """It has heard this host's goodbye, or has ended with nothing to wait for."""
        self._peers[host].released = True

    def is_done(self, host: int) -> bool:
        """Whether both have said goodbye, and this host's was heard."""
        peer = self._peers[host]
        return peer.gone and peer.released

    @property
    def all_done(self) -> bool:
        """Whether nobody needs this host any more."""
        return all(self.is_done(host) for host in self._peers)

    def refuse(self, host: int, reason: str, now: float) -> None:
        """Something that said to be a host was turned away; it may come yet."""
        peer = self._peers[host]
        if not peer.greeted and peer.refused is None:
            peer.refused = now, reason

    def missed(self, now: float) -> Missed | None:
        """The first host that should have said something."""
        for host, peer in self._peers.items():
            if self.is_done(host):
                continue
            if peer.refused is not None and not peer.greeted:
                since, reason = peer.refused
                if now - since > self._limits.grace:
                    return Missed(host, reason, refused=True)
            allowed = self._limits.silence if peer.greeted else self._limits.join
            if now - peer.heard > allowed:
                what = "no sign of life" if peer.greeted else "no connection"
                where = self._places.describe(host)
                seconds = now - peer.heard
                return Missed(host, f"{what} for {seconds:.0f} s from {where}")
        return None
