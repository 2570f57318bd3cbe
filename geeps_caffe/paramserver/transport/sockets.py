"""ZeroMQ sockets as agents use them: how much waits in them, and who may connect."""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver.hosts.peer_wire import MOST_BYTES
from geeps_caffe.paramserver.hosts.pieces import LOCAL_PIECE_BYTES
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.doorman import Watch
from geeps_caffe.paramserver.transport.keys import ClusterKey, zmq_module
from geeps_caffe.paramserver.transport.steady import SteadySender

SEND_AHEAD = 4  # messages handed to ZeroMQ: what follows may still be overtaken
RECEIVE_AHEAD = 64  # messages that wait here, per connection; larger ones: fewer
LINGER_MS = 2000  # to deliver the last words
#: Within one machine nothing is under way for long, and waits cost most.
LOOPBACK_AHEAD = 8
#: Of the sender's buffer in the kernel there: what fits into a core's cache is copied
#: out of it. The receiver's is left to the kernel, which lets it grow: were it as
#: small, both would wait for each other several times a piece.
LOOPBACK_SEND_BUFFER = 1 << 17


@dataclass
class Way:
    """A connection for letters to a host."""

    host: int
    socket: Any
    steady: SteadySender
    watch: Watch
    greeted: bool = False
    full: bool = False  # it takes nothing until its descriptor tells


def make_inlet(
    context: Any, address: Address, key: ClusterKey | None, local: bool
) -> Any:
    """The socket that others' letters come to.

    Args:
        context: ZeroMQ's.
        address: of this host.
        key: others must have it too.
        local: nobody from elsewhere may connect.

    Raises:
        UsageError: the port is taken; the context is gone then.
    """
    zmq = zmq_module()
    inlet = context.socket(zmq.ROUTER)
    inlet.rcvhwm = RECEIVE_AHEAD // 4 if local else RECEIVE_AHEAD
    if key is not None:
        inlet.curve_server = True
    _set_up(inlet, key, local)
    url = address.url if local else f"tcp://*:{address.port}"
    try:
        inlet.bind(url)
    except zmq.ZMQError as error:
        context.destroy(linger=0)
        raise UsageError(
            f"can't listen at {url}: {error.strerror}; does another run use the "
            "port? (give -port, or wait for it to end)"
        ) from error
    return inlet


def make_way(context: Any, host: int, address: Address, key: ClusterKey | None) -> Way:
    """A socket for letters to a host, which begins to connect."""
    socket = context.socket(zmq_module().DEALER)
    ahead = LOOPBACK_AHEAD if address.loopback else SEND_AHEAD
    socket.sndhwm = ahead
    socket.immediate = True  # letters wait in the outbox until there is a connection
    socket.reconnect_ivl, socket.reconnect_ivl_max = 50, 1000
    if key is not None:
        socket.curve_serverkey = key.public
    _set_up(socket, key, address.loopback)
    watch = Watch(socket)
    socket.connect(address.url)
    return Way(host, socket, SteadySender(socket, ahead), watch)


def _set_up(socket: Any, key: ClusterKey | None, local: bool) -> None:
    """What both kinds have in common."""
    socket.linger = LINGER_MS
    socket.maxmsgsize = 2 * LOCAL_PIECE_BYTES if local else MOST_BYTES
    socket.ipv6 = True
    if local:
        socket.sndbuf = LOOPBACK_SEND_BUFFER
    if key is not None:
        socket.curve_publickey = key.public
        socket.curve_secretkey = key.secret
