"""Strangers at the door of a host that trains: refused, told why, no harm done."""

import contextlib
import random
import socket

import numpy as np
import pytest

from geeps_caffe.paramserver import messages as m
from geeps_caffe.paramserver.hosts import peer_messages as p
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_wire import pack, read_head, write_head
from geeps_caffe.paramserver.transport.keys import make_key, write_key
from geeps_caffe.paramserver.wire import FrameReader, write_frame
from tests.paramserver.hosts.test_launch_host import (
    Hosts,
    assert_ended_well,
    values,
    wait_for,
)

zmq = pytest.importorskip("zmq")
FRAMES = 100_000
GENUINE = [
    (p.Greeting(1, 0), Passport((1, 1)).as_json()),
    (p.Greeting(1, 0), Passport((1, 1), version="0.0.1").as_json()),
    (p.Greeting(0, 1), Passport((1, 1)).as_json()),
    (p.Greeting(1, 0), b"[" * 50_000),
    (p.Greeting(1, 0), b'{"counts": [Infinity], "job": {}}'),
    (p.Greeting(1, 0), Passport((1, 1), version="\ud800").as_json()),
    (p.Ready(bytes(32)), b"table w"),
    (p.Part(0, 1, 1, 0, 0, 0.1, 1.0, 1.0), bytes(80_000)),
    (p.Part(1, 3, 1, 0, 0, 0.1, 1.0, 1.0), bytes(512)),
    (p.Nothing(0, 1, 1, 1.0), b""),
    (p.Rows(0, 2, -1, 0), bytes(80_000)),
    (p.NormPart(1, 3.0), b""),
    (p.Copy(1, False, 0, 0, 0, 0, 1, 0), bytes(512)),
    (p.Wanted(1, 0, 0), b""),
    (p.Relay(1), bytes(29)),
    (p.Failed(False), b"the end"),
    (p.Gone(), b""),
    (p.Released(), b""),
]
TCP_FRAMES = 20_000
#: ZeroMQ's own first bytes, of a client without keys; what follows are frames.
HANDSHAKE = (
    b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32),
    b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity" + bytes(4),
)
LOCAL_FRAMES = 20_000
OF_WORKERS = [
    m.Hello(m.PROTOCOL, 0, 2, 1),
    m.Hello(m.PROTOCOL, 7, 2, 1),
    m.Hello(m.PROTOCOL + 1, 1, 2, 1),
    m.Propose('{"tables": []}'),
    m.Push(0, 3, 3, 0.1, 1.0),
    m.Close(3, 0),
    m.Pull(0, 3, -1),
    m.Meet(3, (1.0,), (0,)),
    m.Publish((0, 1)),
    m.Gather(0),
    m.Lost("the end"),
    m.Bye(),
]


def mutated(data, rng):
    """Some bytes changed, cut off or added."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        what = rng.random()
        if what < 0.5 and data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        elif what < 0.75 and data:
            del data[rng.randrange(len(data)) :]
        else:
            data += rng.randbytes(rng.randint(1, 9))
    return bytes(data)


def frames(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        if rng.random() < 0.3:
            yield [rng.randbytes(rng.randint(0, 60)) for _ in range(rng.randint(1, 4))]
            continue
        message, payload = rng.choice(GENUINE)
        head = write_head(message)
        if isinstance(message, p.Greeting) and rng.random() < 0.9:
            payload = mutated(payload, rng)
        elif rng.random() < 0.7:
            head = mutated(head, rng)
        payload = payload[: rng.choice((0, 100, len(payload)))]
        if rng.random() < 0.5:
            block = pack([(message, payload)] * rng.randint(1, 3))
            yield [mutated(block, rng)]
        else:
            yield [head, payload]


@pytest.fixture(params=["open", "with keys"])
def hosts(tmp_path, request):
    """Two hosts that train until a file says stop."""
    more = {}
    if request.param == "with keys":
        write_key(tmp_path / "key", make_key())
        more = {"key": str(tmp_path / "key")}
    with Hosts(tmp_path, "until", [1, 1], limits={"silence": 20.0}, **more) as hosts:
        wait_for(tmp_path / "rank0.started")
        yield hosts


def end_well(hosts):
    (hosts.folder / "stop").touch()
    assert_ended_well(hosts)
    for rank in range(2):
        found = values(hosts.folder, rank)
        assert found["clocks"] > 0
        np.testing.assert_array_equal(found["a"], 2.0 * found["clocks"])


def dealer(context, port, key=None, patience=10_000):
    found = context.socket(zmq.DEALER)
    found.linger = 0
    found.sndtimeo = patience  # ms
    if key is not None:
        found.curve_serverkey = key.public
        found.curve_publickey, found.curve_secretkey = key.public, key.secret
    found.connect(f"tcp://127.0.0.1:{port}")
    return found


@pytest.mark.slow
def test_random_and_mutated_frames_do_no_harm(hosts):
    sent, patience = 0, 100 if hosts.keyed else 30_000
    with zmq.Context() as context:
        for seed in range(20):
            connected = dealer(context, hosts.ports[0], patience=patience)
            with contextlib.closing(connected) as stranger:
                for parts in frames(FRAMES // 20, seed):
                    try:
                        stranger.send_multipart(parts)
                        sent += 1
                    except zmq.Again:  # nobody lets it in
                        break
    if hosts.keyed:
        assert sent < FRAMES
    else:
        assert sent == FRAMES
    end_well(hosts)


@pytest.mark.slow
def test_bytes_that_are_not_of_zeromq_do_no_harm(hosts):
    rng = random.Random(1)
    for _ in range(300):
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", hosts.ports[0]), 5) as stranger,
        ):
            stranger.sendall(rng.randbytes(rng.randint(1, 3000)))
    end_well(hosts)


def tcp_frame(part, more=False, command=False):
    """A frame of ZeroMQ's protocol."""
    flags = more | 2 * (len(part) > 255) | 4 * command
    size = len(part).to_bytes(8 if len(part) > 255 else 1, "big")
    return bytes((flags,)) + size + part


def say(stranger, data):
    """Send all, say that this is the end, and hear what comes."""
    answer = b""
    with contextlib.suppress(OSError):
        stranger.settimeout(10)
        stranger.sendall(data)
        stranger.shutdown(socket.SHUT_WR)
        while got := stranger.recv(1 << 16):
            answer += got
    return answer


@pytest.mark.slow
def test_mutated_frames_after_the_handshake_of_zeromq_do_no_harm(hosts):
    rng = random.Random(2)
    greeting, ready = HANDSHAKE
    for seed in range(200):
        data = tcp_frame(ready, command=True)
        for parts in frames(TCP_FRAMES // 200, seed):
            for number, part in enumerate(parts):
                frame = tcp_frame(part, number + 1 < len(parts))
                data += mutated(frame, rng) if rng.random() < 0.01 else frame
        with socket.create_connection(("127.0.0.1", hosts.ports[0]), 5) as stranger:
            stranger.sendall(greeting)
            if not hosts.keyed:  # else it may end the connection at once
                assert stranger.recv(1) == b"\xff"
            say(stranger, data)
    end_well(hosts)


@pytest.mark.slow
def test_mutated_frames_at_the_door_of_the_workers_do_no_harm(hosts):
    """The local socket, which only the user can reach: garbage is refused and told."""
    rng, refused = random.Random(3), []
    path = (hosts.folder / "rank0.agent").read_text()
    for _ in range(LOCAL_FRAMES // 10):
        data = b""
        for _ in range(10):
            frame = write_frame(rng.choice(OF_WORKERS))
            data += mutated(frame, rng) if rng.random() < 0.7 else frame
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(path)
            answer = list(FrameReader().feed(say(stranger, data)))
        refused += [one.reason for one in answer if isinstance(one, m.Refused)]
    told = set(refused)
    assert "a second or unknown rank 0 wants to join" in told
    assert "a connection did not begin with a hello" in told
    assert any("is not of protocol" in reason for reason in told)
    end_well(hosts)


@pytest.mark.slow
def test_who_has_another_key_is_not_let_in(hosts):
    with (
        zmq.Context() as context,
        contextlib.closing(dealer(context, hosts.ports[0], make_key())) as stranger,
    ):
        stranger.immediate = True
        with contextlib.suppress(zmq.Again):
            stranger.send_multipart([write_head(p.Failed(False)), b"the end"])
    end_well(hosts)


@pytest.mark.slow
def test_a_stranger_is_told_why_it_is_refused(tmp_path):
    with (
        Hosts(tmp_path, "until", [1, 1], limits={"silence": 20.0}) as hosts,
        zmq.Context() as context,
        contextlib.closing(dealer(context, hosts.ports[0])) as stranger,
    ):
        stranger.rcvtimeo = 20_000
        greeting = write_head(p.Greeting(7, 0))
        stranger.send_multipart([greeting, Passport((1, 1)).as_json()])
        head, text = stranger.recv_multipart()
        assert read_head(head) == p.Failed(True)
        assert b"host number 7" in text
        wait_for(tmp_path / "rank0.started")
        end_well(hosts)
