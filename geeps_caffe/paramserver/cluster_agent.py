"""The agent of one of several hosts: its workers' agent, and the others' peer."""

import selectors
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.agent import Agent
from geeps_caffe.paramserver.hosts.cluster_host import ClusterHost
from geeps_caffe.paramserver.hosts.peer_messages import NUMBERS
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.lookout import CLUSTER_TAKEN_SECONDS
from geeps_caffe.paramserver.messages import Flags, Outgoing
from geeps_caffe.paramserver.transport.network import Ended, Network

LAST_WORDS_SECONDS = 2.0  # for a failure to reach the other hosts
BROKEN_SECONDS = 0.5  # from a broken connection until the host counts as lost
LOOK_SECONDS = 0.001  # between two looks at a network without descriptors
PATIENCE_SECONDS = 0.002  # until what nobody waits for goes alone
MOST_LOOKS = 16  # at letters that go on coming, before the time is looked at
CHECK_SECONDS = 0.2  # between two looks at connections that may have ended


class ClusterAgent(Agent):
    """Moves letters between the network and the state machine in `cluster_host.py`.

    Args:
        path: of the Unix socket for the local workers.
        make_host: makes the state machine, given what allocates the tables' memory.
        network: to the other hosts; closed with the agent.
        limits: how long a wait may last.
        explain: says how a rank's process ended, once its connection is closed.
        ended: the ranks whose processes have ended, each with True if in peace.
    """

    host: ClusterHost
    work_seconds = 0.002  # a look at the network costs more
    taken_seconds = CLUSTER_TAKEN_SECONDS

    def __init__(
        self,
        path: Path,
        make_host: Callable[[Callable[[int], Array]], ClusterHost],
        network: Network,
        limits: Limits | None = None,
        explain: Callable[[int], str] | None = None,
        ended: Callable[[], Iterable[tuple[int, bool]]] = tuple,
    ) -> None:
        super().__init__(path, make_host, limits, explain, ended)
        self._network = network
        self._broken: dict[int, tuple[float, str]] = {}
        self._checked = 0.0
        self._patient_since: float | None = None
        self._others = tuple(self.host.places.others)
        self._flags: Outgoing = []  # for local workers
        self._flags_since = 0.0
        self._late: list[Callable[[], Outgoing]] = []
        descriptors = network.descriptors()
        self._blind = not descriptors
        for descriptor in descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ)

    def _serve(self, wait: float) -> None:
        """Letters leave; then comes what could wait; at last, wait for what comes."""
        if self._late:
            self._catch_up()
            self._flush()
        if self._network.more:
            wait = 0.0
        elif self._patient_since is not None or self._flags:
            wait = min(wait, PATIENCE_SECONDS)
        elif self._blind:
            wait = min(wait, LOOK_SECONDS)
        super()._serve(wait)
        self._collect()
        now = self._now()
        if now - self._checked > CHECK_SECONDS:
            self._checked = now
            self._catch_up()
            self._check(now)

    def _catch_up(self) -> None:
        """Take what was put off, in the order in which it came."""
        late, self._late = self._late, []
        for take in late:
            self._send(take())
        self._busy = self.host.busy

    def _hear_all(self) -> None:
        for _ in range(MOST_LOOKS):
            super()._hear_all()
            if not self._network.more:
                break
        self._catch_up()

    def _send(self, out: Outgoing) -> None:
        """Flags, which nobody needs soon, go with other messages: they wake nobody."""
        if not out:
            return
        flags = [told for told in out if isinstance(told[1], Flags)]
        if not flags:
            self._send_all(out)
            return
        if not self._flags:
            self._flags_since = time.monotonic()
        self._flags += flags
        if len(flags) < len(out):
            self._send_all([told for told in out if not isinstance(told[1], Flags)])

    def _send_all(self, urgent: Outgoing) -> None:
        """Flags that have waited, and these messages."""
        flags, self._flags = self._flags, []
        super()._send([*flags, *urgent])

    def _attend_other(self, descriptor: int) -> None:
        self._network.attend(descriptor)

    def _dispatch(self) -> None:
        """Send what can be."""
        if self._flags and time.monotonic() - self._flags_since > PATIENCE_SECONDS:
            self._send_all([])
        if self.host.outbox:
            for host in self._others:
                self._post(host)
        if not self.host.outbox:
            self._patient_since = None

    def _collect(self) -> None:
        """Take some of what has come; numbers, for which somebody waits, first."""
        arrived = self._network.receive()
        now = self._now() if arrived else 0.0
        for host, message, data in arrived:
            if isinstance(message, NUMBERS):
                self._send(self.host.hear(host, message, data, now))
            else:
                self._late.append(partial(self.host.hear, host, message, data, now))

    def _post(self, host: int) -> bool:
        """Send a host's most urgent letters, as many as the way takes."""
        outbox, sent = self.host.outbox, False
        while outbox.next(host) is not None:
            if not outbox.hurries(host) and self._can_wait():
                break
            if not self._network.send(host, outbox):
                break
            sent = True
        return sent

    def _can_wait(self) -> bool:
        """Whether letters without hurry may yet find others to go with."""
        now = time.monotonic()
        if self._patient_since is None:
            self._patient_since = now
        if now - self._patient_since < PATIENCE_SECONDS:
            return True
        self._patient_since = None
        return False

    def _check(self, now: float) -> None:
        """At connections that ended: what they still brought was taken before.

        A host leaves once its goodbye is answered (`cluster_host.py`), so the end of a
        connection can't be noticed before the goodbye of who ends it in peace.
        """
        for end in self._network.ended():
            self._note(end, now)
        for end in self._network.refused():
            self.host.refuse(end.host, end.reason, now)
        for host, (since, reason) in list(self._broken.items()):
            if now - since > BROKEN_SECONDS:
                del self._broken[host]
                self._send(self.host.unreachable(host, reason))

    def _note(self, end: Ended, now: float) -> None:
        if end.refused:
            self._send(self.host.refused_by(end.host, end.reason))
        elif self.host.has_greeted(end.host):
            self._broken.setdefault(end.host, (now, end.reason))

    def _flush(self) -> None:
        """Letters first: their way is longer."""
        self._dispatch()
        super()._flush()
        if self.host.failure is not None:
            self._say_last_words()

    def _say_last_words(self) -> None:
        """Send why the run is over, so long as it takes within two seconds."""
        end = time.monotonic() + LAST_WORDS_SECONDS
        outbox = self.host.outbox
        outbox.keep_last()
        while outbox and time.monotonic() < end:
            sent = [self._post(host) for host in self._others]
            if not any(sent):
                time.sleep(LOOK_SECONDS)
                self._network.ended()  # notices ways that take letters again

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self._network.close()
