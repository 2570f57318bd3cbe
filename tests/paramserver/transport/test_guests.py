"""Who is let in at the door of one of several hosts."""

import numpy as np
import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import Greeting
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.transport.guests import Guests

PASSPORT = Passport((1, 1, 1))
DATA = np.frombuffer(PASSPORT.as_json(), np.uint8)


@pytest.fixture
def answers():
    """Who was told what."""
    return []


@pytest.fixture
def guests(answers):
    """Those of host 2."""
    places = Places(("a", "b", "c"), (1, 1, 1), 2)
    return Guests(places, PASSPORT, 1, lambda *answer: answers.append(answer))


def test_a_host_that_greets_this_one_by_its_number_comes_in(guests):
    assert guests.admit(b"x", Greeting(1, 2), DATA) == 1
    assert guests.refused() == []


@pytest.mark.parametrize(
    ("greeting", "told"),
    [(Greeting(0, 1), [0]), (Greeting(2, 2), []), (Greeting(2, 0), [])],
)
def test_hosts_of_other_machine_files_are_refused_with_all_numbers(
    guests, greeting, told
):
    """Two that have the lines of others in another order would mix up their rows."""
    text = (
        rf"host number {greeting.host} for host number {greeting.receiver}, where this "
        r"is number 2 of 3; do all have the same machine file, and each its own -worker"
    )
    with pytest.raises(ParameterServerError, match=text):
        guests.admit(b"x", greeting, DATA)
    assert [end.host for end in guests.refused()] == told


def test_a_stranger_is_told_once_whatever_else_it_had_sent(guests, answers, caplog):
    guests.refuse(b"x", "another version")
    guests.refuse(b"x", "a connection without a greeting")
    guests.refuse(b"y", "a connection without a greeting")
    assert answers == [
        (b"x", "another version"),
        (b"y", "a connection without a greeting"),
    ]
    assert len(caplog.messages) == 2
