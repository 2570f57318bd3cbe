"""When a wait looks often, and when it sleeps."""

import pytest

from geeps_caffe.paramserver.lookout import (
    FIRST_PAUSE_SECONDS,
    LAST_PAUSE_SECONDS,
    SOON_SECONDS,
    TAKEN_SECONDS,
    Lookout,
)

LOOKS = 10  # within what counts as soon


class World:
    """News come at `due`; an offered core is back after `offered` seconds."""

    def __init__(self, **settings):
        self.now, self.due = 0.0, 0.0
        self.offered = SOON_SECONDS / LOOKS
        self.slept, self.offers = [], 0
        self.lookout = Lookout(lambda: self.now, self.offer, **settings)

    def offer(self):
        self.offers += 1
        self.now += self.offered

    def look(self, timeout):
        if timeout:
            self.slept.append(timeout)
            self.now = min(max(self.now, self.due), self.now + timeout)
        return ["news"] if self.now >= self.due else []

    def wait(self, seconds, timeout=1.0):
        """For news that come in so many seconds: sleeps and offers of this wait."""
        self.slept, self.offers = [], 0
        self.due = self.now + seconds
        found = self.lookout.wait(self.look, timeout)
        assert found == (["news"] if self.now >= self.due else [])
        return len(self.slept), self.offers


def test_it_sleeps_until_a_wait_was_short():
    world = World()
    assert world.wait(10 * SOON_SECONDS) == (1, 0)
    assert world.wait(0.45 * SOON_SECONDS) == (1, 0)
    assert world.wait(0.45 * SOON_SECONDS) == (0, 5)
    assert world.wait(0.45 * SOON_SECONDS) == (0, 5)


def test_without_looks_it_always_sleeps():
    world = World(soon=0.0)
    for _ in range(3):
        assert world.wait(0.45 * SOON_SECONDS) == (1, 0)


def test_who_needs_the_core_for_less_than_is_allowed_does_not_end_the_looking():
    world = World(taken=2 * SOON_SECONDS)
    world.offered = 1.01 * TAKEN_SECONDS
    world.wait(0.45 * SOON_SECONDS)
    assert world.wait(2.9 * TAKEN_SECONDS) == (0, 3)
    assert world.wait(2.9 * TAKEN_SECONDS) == (0, 3)


def test_one_long_wait_ends_the_looking():
    world = World()
    world.wait(0.45 * SOON_SECONDS)
    sleeps, offers = world.wait(10 * SOON_SECONDS)
    assert sleeps == 1
    assert LOOKS <= offers <= LOOKS + 1  # tenths do not add up exactly
    assert world.wait(10 * SOON_SECONDS) == (1, 0)


def take_the_core(world):
    """Others keep it for long; returns when that was."""
    world.offered = 1.01 * TAKEN_SECONDS
    assert world.wait(2 * SOON_SECONDS) == (1, 1)
    world.wait(0.45 * SOON_SECONDS)
    world.offered = SOON_SECONDS / LOOKS
    return world.now


def pause_of(world, start):
    """How long after `start` no looks are made, to a wait more or less."""
    while world.wait(0.45 * SOON_SECONDS) == (1, 0):
        pass
    return world.now - start


def test_who_takes_the_core_for_long_is_left_alone_for_a_while():
    world = World()
    world.wait(0.45 * SOON_SECONDS)
    pause = pause_of(world, take_the_core(world))
    assert pause == pytest.approx(FIRST_PAUSE_SECONDS, abs=3 * SOON_SECONDS)


def test_who_takes_it_again_and_again_is_left_alone_longer():
    world = World()
    world.wait(0.45 * SOON_SECONDS)
    pauses = [pause_of(world, take_the_core(world)) for _ in range(12)]
    assert pauses[1] > 1.5 * pauses[0]
    assert pauses[-1] == pytest.approx(LAST_PAUSE_SECONDS, rel=0.15)
    for _ in range(50):  # waits over by looks make it short again
        assert world.wait(0.45 * SOON_SECONDS) == (0, 5)
    assert pause_of(world, take_the_core(world)) < 2 * FIRST_PAUSE_SECONDS


def test_news_that_are_there_change_nothing():
    world = World()
    world.wait(0.45 * SOON_SECONDS)
    assert world.wait(0.0) == (0, 0)
    assert world.wait(0.45 * SOON_SECONDS) == (0, 5)


@pytest.mark.parametrize("timeout", [0.0, 0.2 * SOON_SECONDS])
def test_a_wait_in_vain_is_not_a_short_one(timeout):
    world = World()
    assert world.wait(1.0, timeout) == (1 if timeout else 0, 0)
    assert world.wait(1.0, timeout) == (1 if timeout else 0, 0)
