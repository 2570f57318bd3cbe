"""Processes that only know the first one's address tell each other theirs."""

import json
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from geeps_caffe.errors import InputError, ParameterServerError, PeerLost, UsageError
from geeps_caffe.paramserver.awake import AwakeClock
from geeps_caffe.paramserver.hosts.passport import NO_PASSPORT
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.strangers import Strangers
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.doorman import Doorman, Watch
from geeps_caffe.paramserver.transport.keys import ClusterKey, zmq_module

_LOG = logging.getLogger(__name__)
LOOK_MS = 10  # between two looks
STILL_SECONDS = 5.0  # between two of them: this process was stopped meanwhile
LONGEST = 4096  # bytes of what one says
MORE_PATIENCE = 10.0  # seconds: the first one gives up first, and says who is missing
LINGER_MS = 2000  # to deliver the last words
_OTHER_KEY = "has it another key, or none?"  # a connection doesn't tell


@dataclass(frozen=True)
class Meeting:
    """What one process knows: its number, how many there are, and where to meet."""

    host: int
    hosts: int
    master: Address
    workers: int  # of this process
    trusted: bool = False  # the network: no key is needed


@dataclass(frozen=True)
class Met:
    """What all know afterwards, by number."""

    addresses: tuple[Address, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class _Guest:
    """Who has come; `sender` is its connection."""

    address: Address
    workers: int
    sender: bytes = b""


class Patience:
    """A wait with an end; the log hears for whom and since when, now and then."""

    def __init__(self, seconds: float, now: float) -> None:
        self._begun = self._told = now
        self._seconds = seconds

    def lasts(self, missing: Sequence[int], now: float) -> bool:
        """Whether ranks that have not come are waited for any longer."""
        if now - self._told >= Limits.report:
            self._told = now
            who = _ranks(missing)
            _LOG.warning("waiting for %s, since %.0f s", who, now - self._begun)
        return now - self._begun < self._seconds


def _ranks(numbers: Sequence[int]) -> str:
    return "rank " + ", ".join(map(str, numbers))


def meet(
    meeting: Meeting,
    key: ClusterKey | None,
    seconds: float,
    more: float = MORE_PATIENCE,
) -> Met:
    """Wait for all; the first one listens at `master`.

    Args:
        meeting: what this process knows.
        key: the cluster's, if it has one.
        seconds: how long the first one waits.
        more: how much longer the others wait for its answer.

    Raises:
        PeerLost: not all came in time; the missing ones are named.
        ParameterServerError: rank 0 does not let this one in, and why.
        UsageError: a key is needed, or the port is taken.
        InputError: the first one's name is not known, or there is no way to it.
    """
    if key is None and not meeting.master.loopback and not meeting.trusted:
        raise UsageError(
            f"the first process is at {meeting.master.name}, so a key is needed: make "
            "one with 'geeps-caffe keygen FILE', copy it to all hosts, and give -key "
            "FILE"
        )
    meeting.master.check()
    context = zmq_module().Context()
    context.linger = LINGER_MS  # of sockets closed before it: else it waits for ever
    try:
        if meeting.host == 0:
            return _receive_all(context, meeting, key, seconds)
        return _ask(context, meeting, key, seconds + more)
    finally:
        context.destroy()


def _receive_all(
    context: Any, meeting: Meeting, key: ClusterKey | None, seconds: float
) -> Met:
    doorman = Doorman(context, key)
    with (
        closing(doorman),
        _door(context, meeting, key) as door,
        closing(Watch(door)) as guard,
    ):
        return _receive(door, doorman, guard, meeting, seconds)


def _receive(
    door: Any, doorman: Doorman, guard: Watch, meeting: Meeting, seconds: float
) -> Met:
    own = _Guest(Address(meeting.master.name, _free_port("")), meeting.workers)
    guests = {0: own}
    clock, strangers = AwakeClock(STILL_SECONDS), Strangers()
    patience = Patience(seconds, clock())
    missing = [*range(1, meeting.hosts)]
    while missing and patience.lasts(missing, clock()):
        doorman.look()
        for reason in _turned_away(doorman, guard):
            strangers.warn(reason)
        if door.poll(LOOK_MS):
            for sender, reason in _take(door.recv_multipart(), guests, meeting):
                strangers.warn(reason)
                _send(door, sender, {"refused": reason})
            missing = [host for host in range(meeting.hosts) if host not in guests]
    answer = {
        "missing": missing,
        "seconds": seconds,
        "hosts": [
            [guests[h].address.name, guests[h].address.port, guests[h].workers]
            for h in sorted(guests)
        ],
    }
    for guest in guests.values():
        if guest.sender:
            _send(door, guest.sender, answer)
    return _read(answer)


def _send(door: Any, guest: bytes, answer: dict[str, Any]) -> None:
    door.send_multipart([guest, json.dumps(answer).encode()])


def _turned_away(doorman: Doorman, guard: Watch) -> list[str]:
    """Who could not even connect."""
    failed = [event.refusal for event in guard.events() if event.failed]
    return doorman.refused() + failed


def _door(context: Any, meeting: Meeting, key: ClusterKey | None) -> Any:
    zmq = zmq_module()
    door = context.socket(zmq.ROUTER)
    door.maxmsgsize = LONGEST
    door.ipv6 = True
    if key is not None:
        door.curve_server = True
        door.curve_publickey, door.curve_secretkey = key.public, key.secret
    url = meeting.master.url if key is None else f"tcp://*:{meeting.master.port}"
    try:
        door.bind(url)
    except zmq.ZMQError as error:
        door.close()
        raise UsageError(
            f"can't listen at {url}: {error.strerror}; set MASTER_PORT or give -port"
        ) from error
    return door


def _take(
    parts: list[bytes], guests: dict[int, _Guest], meeting: Meeting
) -> list[tuple[bytes, str]]:
    """Note who came; returns connections that are refused, and why.

    What is no greeting is not heard. Of two with one rank the last counts: it may be
    the first one, started again.
    """
    if len(parts) != 2:
        return []
    try:
        host, hosts, name, port, workers = json.loads(parts[1])
        host, hosts = int(host), int(hosts)
        guest = _Guest(Address(str(name), int(port)), int(workers), parts[0])
    except NO_PASSPORT:
        return []
    if not (0 < host < hosts and 0 < guest.address.port < 65536 and guest.workers > 0):
        return []
    if hosts != meeting.hosts:
        reason = f"rank {host} is one of {hosts}, but rank 0 one of {meeting.hosts}"
        return [(guest.sender, f"{reason}; start all with the same number of ranks")]
    before = guests.get(host)
    guests[host] = guest
    if before is None:
        return []
    where = f"{before.address.name} and {guest.address.name}"
    reason = f"two processes are rank {host} (at {where}); give each its own"
    return [(before.sender, reason)]


def _ask(context: Any, meeting: Meeting, key: ClusterKey | None, seconds: float) -> Met:
    with context.socket(zmq_module().DEALER) as line, closing(Watch(line)) as guard:
        return _ask_over(line, guard, meeting, key, seconds)


def _ask_over(
    line: Any, guard: Watch, meeting: Meeting, key: ClusterKey | None, seconds: float
) -> Met:
    line.maxmsgsize = 1 << 20
    line.ipv6 = True
    if key is not None:
        line.curve_serverkey = key.public
        line.curve_publickey, line.curve_secretkey = key.public, key.secret
    line.reconnect_ivl, line.reconnect_ivl_max = 100, 3000
    line.connect(meeting.master.url)
    own = _own_address(meeting)
    words = [meeting.host, meeting.hosts, own.name, own.port, meeting.workers]
    line.send(json.dumps(words).encode())
    url, broken = meeting.master.url, False
    clock = AwakeClock(STILL_SECONDS)
    patience = Patience(seconds, clock())
    while not line.poll(LOOK_MS):
        for event in guard.events():
            if event.failed:
                raise ParameterServerError(f"rank 0 at {url}: {event.what}")
            if not (broken or event.disconnected):
                broken = True
                _LOG.warning("rank 0 at %s: %s; %s", url, event.what, _OTHER_KEY)
        if patience.lasts([0], clock()):
            continue
        raise PeerLost(
            f"rank {meeting.host} (host {socket.gethostname()}, process {os.getpid()}) "
            f"did not reach rank 0 at {url} within {seconds:.0f} s"
            + (f"; {_OTHER_KEY}" if broken else "")
        )
    try:
        return _read(json.loads(line.recv()))
    except NO_PASSPORT as error:
        raise ParameterServerError(f"rank 0 sent no list of hosts: {error}") from error


def _own_address(meeting: Meeting) -> Address:
    """This machine as the first one sees it, and a port that is free now."""
    master = meeting.master
    family = socket.getaddrinfo(master.name, master.port)[0][0]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((master.name, master.port))
            name = str(probe.getsockname()[0])
    except OSError as error:
        raise InputError(
            f"there is no way from here to rank 0 at {master.name}: {error.strerror}"
        ) from error
    return Address(name, _free_port(name, family))


def _free_port(name: str, family: int = socket.AF_INET) -> int:
    with socket.socket(family) as free:
        free.bind((name, 0))
        return int(free.getsockname()[1])


def _read(answer: dict[str, Any]) -> Met:
    if "refused" in answer:
        raise ParameterServerError(f"rank 0 refuses: {answer['refused']}")
    if answer["missing"]:
        seconds = float(answer["seconds"])
        raise PeerLost(
            f"no connection for {seconds:.0f} s from {_ranks(answer['missing'])}"
        )
    rows = answer["hosts"]
    return Met(
        tuple(Address(str(name), int(port)) for name, port, _ in rows),
        tuple(int(count) for _, _, count in rows),
    )
