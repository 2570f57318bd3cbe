import numpy as np

from geeps_caffe.paramserver.hosts import peer_messages as p
from geeps_caffe.paramserver.hosts.outbox import LAST_TABLE, Outbox


def rows(table, piece=0, clock=0):
    return p.Rows(table, clock, -1, piece)


def drain(outbox, host=1):
    found = []
    while outbox.next(host) is not None:
        found.append(outbox.take(host).message)
    return found


def test_a_table_that_is_needed_first_overtakes_a_larger_one_that_came_before():
    outbox = Outbox(2)
    for piece in range(3):
        outbox.put(1, rows(5, piece), order=(0, 5))
    assert outbox.take(1).message == rows(5, 0)  # it is on its way already
    outbox.put(1, rows(0), order=(0, 0))
    assert drain(outbox) == [rows(0), rows(5, 1), rows(5, 2)]


def test_earlier_clocks_come_first_and_what_has_no_clock_before_all():
    outbox = Outbox(2)
    outbox.put(1, rows(0, clock=1), order=(1, 0))
    outbox.put(1, rows(7, clock=0), order=(0, 7))
    outbox.put(1, p.Alive())
    outbox.put(1, p.Gone())
    assert drain(outbox) == [p.Alive(), p.Gone(), rows(7), rows(0, clock=1)]


def test_letters_that_nobody_waits_for_do_not_hurry():
    outbox = Outbox(2)
    outbox.put(1, p.Relay(0), b"close", order=(0, LAST_TABLE))
    assert not outbox.hurries(1)
    outbox.put(1, rows(3), order=(0, 3))
    assert outbox.hurries(1)
    assert drain(outbox) == [rows(3), p.Relay(0)]


def test_the_pieces_of_a_table_share_no_lane_but_one_piece_keeps_its():
    outbox = Outbox(2)
    for clock in range(2):
        for piece in range(2):
            outbox.put(1, rows(4, piece, clock), order=(clock, 4))
    lanes = [outbox.take(1).lane for _ in range(4)]
    assert lanes[:2] == lanes[2:]
    assert lanes[0] != lanes[1]


def test_at_the_end_only_the_reason_is_left():
    outbox = Outbox(2)
    outbox.put(1, rows(1), np.zeros(9), (0, 1))
    outbox.put(1, p.Alive())
    outbox.put(1, p.Failed(False), b"why")
    outbox.keep_last()
    assert drain(outbox) == [p.Failed(False)]
    assert not outbox


def test_what_could_not_be_sent_is_sent_in_its_turn_later():
    outbox = Outbox(2)
    outbox.put(1, rows(0), np.zeros(4), (0, 0))
    outbox.put(1, rows(1), np.zeros(4), (0, 1))
    first = outbox.take(1)
    assert outbox.sent_bytes == 32
    outbox.give_back(1, first)
    assert outbox.sent_bytes == 0
    assert drain(outbox) == [rows(0), rows(1)]


def test_the_end_of_an_older_clock_does_not_slow_a_letter_that_hurries():
    outbox = Outbox(2)
    outbox.put(1, p.Relay(0), b"close", order=(0, LAST_TABLE))
    outbox.put(1, rows(3, clock=1), order=(1, 3))
    assert outbox.next(1).message == p.Relay(0)
    assert outbox.hurries(1)
