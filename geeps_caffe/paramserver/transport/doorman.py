"""Who may connect (CURVE keys, by ZeroMQ's ZAP), and what happens to connections."""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.paramserver.transport.keys import ClusterKey, zmq_module

_ENDPOINT = "inproc://zeromq.zap.01"


class Doorman:
    """Answers ZeroMQ's questions about keys: the cluster's own is let in."""

    def __init__(self, context: Any, key: ClusterKey | None) -> None:
        self._zmq = zmq = zmq_module()
        self._public = None if key is None else zmq.utils.z85.decode(key.public)
        self._in = int(zmq.POLLIN)
        self._refused: list[str] = []
        self.sockets: list[Any] = []
        if key is not None:
            socket = context.socket(zmq.REP)
            socket.linger = 0
            socket.bind(_ENDPOINT)
            self.sockets.append(socket)

    def look(self) -> None:
        """Answer what was asked."""
        zmq = self._zmq
        for socket in self.sockets:
            while int(socket.getsockopt(zmq.EVENTS)) & self._in:
                socket.send_multipart(self._answer(socket.recv_multipart()))

    def _answer(self, question: list[bytes]) -> list[bytes]:
        version, number, _, address, _, mechanism, *rest = [*question, b"", b""]
        good = mechanism == b"CURVE" and rest[0] == self._public
        if not good:
            where = address.decode(errors="replace")
            self._refused.append(f"a wrong key from {where}")
        code, text = (b"200", b"OK") if good else (b"400", b"wrong key")
        return [version, number, code, text, b"", b""]

    def refused(self) -> list[str]:
        """Who was not let in since the last call."""
        refused, self._refused = self._refused, []
        return refused

    def close(self) -> None:
        """Close the socket."""
        for socket in self.sockets:
            socket.close()


@dataclass(frozen=True)
class Event:
    """What happened to a connection; ZeroMQ tells which end was connected to."""

    address: str
    what: str
    failed: bool = False  # the other side does not let us in, or we it
    disconnected: bool = False

    @property
    def refusal(self) -> str:
        """What is told of it where others connect to: who it was is not known."""
        return f"{self.what}, at {self.address}, which is here"


class Watch:
    """Hears of a socket's connections."""

    def __init__(self, socket: Any) -> None:
        zmq = self._zmq = zmq_module()
        self._socket = socket
        self._words = {
            zmq.EVENT_HANDSHAKE_FAILED_AUTH: "the cluster's key is another one",
            zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "no key, or no agent of geeps-caffe",
            zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "a connection that broke at once",
        }
        events = zmq.EVENT_DISCONNECTED
        for event in self._words:
            events |= event
        self._monitor = socket.get_monitor_socket(events)
        self.sockets = [self._monitor]

    def events(self) -> list[Event]:
        """Those since the last call."""
        zmq, found = self._zmq, []
        while self._monitor.getsockopt(zmq.EVENTS) & zmq.POLLIN:
            raw = zmq.utils.monitor.recv_monitor_message(self._monitor)
            address = raw["endpoint"].decode(errors="replace")
            event = raw["event"]
            if event == zmq.EVENT_DISCONNECTED:
                found.append(Event(address, "closed", disconnected=True))
                continue
            # what breaks at once may be a host that is only starting, or ending
            failed = event != zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
            found.append(Event(address, self._words[event], failed))
        return found

    def close(self) -> None:
        """Stop to hear."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
