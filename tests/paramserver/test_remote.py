"""The store of one of several workers: what it says and when it gives up."""

import json
import logging
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.errors import ParameterServerError, PeerLost
from geeps_caffe.paramserver import Client, Limits, RemoteStore, Table
from geeps_caffe.paramserver.messages import (
    Beat,
    Bye,
    Granted,
    Hello,
    Lost,
    Met,
    Missing,
    Refused,
    Waiting,
)
from geeps_caffe.paramserver.transport.inproc import InprocHost
from tests.paramserver.programs import Program

LIMITS = Limits(silence=0.05)


class Script:
    """A link on which the owner says what a test has written."""

    def __init__(self, *messages):
        self.messages = deque(messages)
        self.sent = []

    def send(self, message):
        self.sent.append(message)

    def receive(self, timeout):
        return self.messages.popleft() if self.messages else None

    def memory(self, nbytes):
        return allocate(nbytes)

    def close(self):
        pass


def test_a_silent_agent_is_given_up():
    store = RemoteStore(Script(), 1, 2, LIMITS)
    client = Client(store)
    waiting = r"rank 1 \(process \d+\) waited for the other workers' tables"
    with pytest.raises(PeerLost, match=waiting):
        client.create_tables([Table("w", 4)])
    store.shutdown()


def test_time_in_which_the_worker_itself_stood_still_is_no_silence():
    """One wait was over at once, since the process had been stopped meanwhile."""
    store = RemoteStore(Script(None, Beat(), None, Met((), ())), 1, 2, LIMITS)
    assert store.meet(0, [], []) == ([], {})
    store.shutdown()


@pytest.mark.parametrize(
    ("message", "error"),
    [(Lost("rank 0"), PeerLost), (Refused("r"), PeerLost.__base__)],
)
def test_bad_news_ends_the_wait(message, error):
    store = RemoteStore(Script(message), 1, 2, LIMITS)
    with pytest.raises(error, match=r"^r"):
        store.meet(0, [], [])
    store.shutdown()


def test_a_report_about_a_wait_goes_to_the_log_with_what_is_waited_for(caplog):
    script = Script(Waiting("waiting for rank 0"), Met((), ()))
    store = RemoteStore(script, 1, 2, LIMITS)
    with caplog.at_level(logging.INFO):
        store.meet(3, [], [])
    assert "waiting for rank 0 (for a meeting after clock 2)" in caplog.text
    store.shutdown()


def test_a_wait_for_one_that_has_left_ends():
    script = Script(Missing("no more comes from rank 0"), Met((), ()))
    store = RemoteStore(script, 1, 2, Limits(report=0))
    with pytest.raises(PeerLost, match="a meeting after clock 2: no more comes from r"):
        store.meet(3, [], [])
    store.shutdown()


def test_news_of_one_that_has_left_are_no_fault_where_nothing_lacks():
    """Where tables have no bound, the others go on: the news come before the answer."""
    script = Script(Missing("no more comes from rank 0"), Met((1.0,), ()))
    store = RemoteStore(script, 1, 2, LIMITS)
    assert store.meet(3, [0.5], [])[0] == [1.0]
    store.shutdown()


def test_a_message_that_no_agent_may_send_is_refused():
    store = RemoteStore(Script(Bye()), 1, 2, LIMITS)
    with pytest.raises(ParameterServerError, match="the host agent sent Bye"):
        store.meet(0, [], [])
    store.shutdown()


def test_the_first_words_are_hello_and_the_last_are_bye():
    script = Script(Granted(0, 0, 2, 1))
    RemoteStore(script, 1, 2, LIMITS).shutdown()
    assert isinstance(script.sent[0], Hello)
    assert script.sent[-1] == Bye()


def test_staleness_is_counted():
    host = InprocHost(2)

    def run(rank, clocks):
        store = RemoteStore(host.link(rank), rank, 2)
        program = Program(Client(store), [Table("w", 4, slack=2)], rule="add")
        program.start()
        for _ in range(clocks):
            program.step([np.ones(4)])
        return program.client

    with ThreadPoolExecutor(2) as threads:
        fast, slow = threads.map(run, (0, 1), (3, 0))  # rank 1 stays at clock 0
    stats = json.loads(fast.stats())["tables"]["w"]
    assert stats["staleness"] == {"0": 1, "1": 1, "2": 1}
    assert stats["push_bytes"] == 3 * 512
    for client in (fast, slow):
        client.shutdown()
