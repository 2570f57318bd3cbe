import gc
import threading
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

from geeps_caffe.data.ahead import Work
from geeps_caffe.data.order import Sequential
from geeps_caffe.data.reader import Reader
from geeps_caffe.data.sampler import Sampler, Share
from geeps_caffe.device.array import allocate
from geeps_caffe.errors import DataError

PATIENCE_SECONDS = 10


@dataclass
class Numbers:
    values: np.ndarray

    @property
    def shapes(self):
        return (self.values.shape,)


class FakeFeed:
    """Batches of record numbers. `broken` can't be decoded; `held` waits for a go."""

    def __init__(self, broken=None, held=None, sizes=lambda first: 2):
        self.broken, self.held, self.sizes = broken, held, sizes
        self.go = threading.Event()
        self.fetched = []
        self.closed = False

    def fetch(self, batch):
        self.fetched.append(int(batch.records[0]))
        return batch.records

    def decode(self, batch, fetched):
        first = int(fetched[0])
        if first == self.held:
            assert self.go.wait(PATIENCE_SECONDS)
        if first == self.broken:
            raise DataError(f"record {first} is broken")
        return Numbers(fetched[: self.sizes(first)])

    def write(self, batch, decoded, tops):
        tops[0][...] = decoded.values

    def close(self):
        self.closed = True


@pytest.fixture
def reader():
    made = []

    def make(feed, **settings):
        sampler = Sampler(Sequential(), Share(2), 100)
        made.append(Reader(feed, sampler, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("depth", [1, 3])
def test_batches_come_in_order(reader, threads, depth):
    reader = reader(FakeFeed(), depth=depth, threads=threads)
    found = [reader.next()[0].tolist() for _ in range(20)]
    assert found == [[2 * n, 2 * n + 1] for n in range(20)]


def test_a_slow_batch_is_not_overtaken(reader):
    feed = FakeFeed(held=0)
    reader = reader(feed, depth=3, threads=3)
    threading.Timer(0, feed.go.set).start()
    assert [reader.next()[0][0] for _ in range(5)] == [0, 2, 4, 6, 8]


def test_records_are_fetched_in_order(reader):
    feed = FakeFeed()
    reader = reader(feed, threads=4)
    for _ in range(50):
        reader.next()
    assert feed.fetched == sorted(feed.fetched)


def test_a_batch_can_be_copied_into_arrays(reader):
    reader = reader(FakeFeed())
    into = np.zeros(2, np.float64)
    reader.next((into,))
    assert into.tolist() == [0, 1]


def test_a_batch_stays_until_the_next_one_is_taken(reader):
    reader = reader(FakeFeed(), depth=1, threads=1)
    for n in range(20):
        (values,) = reader.next()
        reader.shapes()  # the following batch is made meanwhile
        assert values.tolist() == [2 * n, 2 * n + 1]


def test_a_batch_that_waits_can_be_looked_at(reader):
    feed = FakeFeed(held=2)
    reader = reader(feed)
    reader.next()
    assert (reader.waiting(), reader.taken) == (None, 1)
    feed.go.set()
    reader.shapes()  # waits for it
    (seen,) = reader.waiting()
    assert reader.next()[0] is seen
    assert (seen.tolist(), reader.taken) == ([2, 3], 2)


def test_a_broken_batch_does_not_wait_to_be_looked_at(reader):
    reader = reader(FakeFeed(broken=0))
    with pytest.raises(DataError):
        reader.shapes()
    assert reader.waiting() is None


@pytest.mark.parametrize("late", [False, True])
def test_batches_lie_in_the_memory_that_is_asked_for(reader, late):
    """Those that are read before stay where they are."""
    made = []

    def memory(nbytes):
        made.append(np.zeros(nbytes, np.uint8))
        return made[-1]

    reader = reader(FakeFeed())
    if late:
        reader.shapes()
    reader.use_memory(memory)
    found = [reader.next()[0] for _ in range(10)]
    assert all(any(np.shares_memory(x, block) for block in made) for x in found[4:])
    assert len(made) <= reader.buffers


def test_the_buffer_that_was_given_back_last_is_filled_first():
    work = Work(FakeFeed(), Sampler(Sequential(), Share(2), 100), 3, allocate)
    slots = [work.take() for _ in range(3)]
    for slot in slots:
        work.free.put(slot)
    assert all(work.take() is slot for slot in reversed(slots))


def test_each_buffer_is_filled_once_before_any_is_again():
    work = Work(FakeFeed(), Sampler(Sequential(), Share(2), 100), 3, allocate)
    first = work.take()
    work.free.put(first)
    assert all(work.take() is not first for _ in range(2))


def test_buffers_are_used_again(reader):
    reader = reader(FakeFeed(), depth=2)
    addresses = {reader.next()[0].ctypes.data for _ in range(30)}
    assert len(addresses) <= 3


def test_shapes_of_the_next_batch_can_be_asked_for(reader):
    reader = reader(FakeFeed(sizes=lambda first: 1 if first % 4 else 2))
    for n in range(6):
        assert reader.shapes() == ((1 if n % 2 else 2,),)
        assert len(reader.next()[0]) == (1 if n % 2 else 2)


def test_an_error_comes_with_its_batch_and_not_before(reader):
    reader = reader(FakeFeed(broken=4))
    assert [reader.next()[0][0] for _ in range(2)] == [0, 2]
    for _ in range(2):
        with pytest.raises(DataError, match="record 4 is broken"):
            reader.next()


def test_a_position_counts_what_was_taken_not_what_was_read_ahead(reader):
    one, other = reader(FakeFeed()), reader(FakeFeed())
    for _ in range(3):
        one.next()
    position = one.position()
    assert position == {"place": 6, "length": 100}
    other.next()
    assert other.restore(position) == ""
    assert other.position() == position
    assert [other.next()[0][0] for _ in range(2)] == [6, 8]


def test_closing_ends_the_threads_and_closes_the_feed(reader):
    feed = FakeFeed()
    before = threading.active_count()
    reader = reader(feed, threads=3)
    reader.next()
    reader.close()
    assert feed.closed
    assert threading.active_count() == before


def test_a_forgotten_reader_is_collected():
    gc.collect()  # readers that other tests have left
    before = threading.active_count()
    reader = Reader(FakeFeed(), Sampler(Sequential(), Share(2)))
    reader.next()
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None
    assert threading.active_count() == before


def test_it_counts_how_long_the_program_has_waited(reader):
    gate = threading.Event()

    class Slow(FakeFeed):
        def fetch(self, batch):
            gate.wait()
            return super().fetch(batch)

    slow = reader(Slow())
    assert slow.waited == 0
    threading.Timer(0.05, gate.set).start()
    slow.next()
    assert slow.waited > 0.01


def test_as_many_threads_read_as_are_asked_for():
    before = threading.active_count()
    for given, asked, started in ((None, 5, 5), (None, 0, 2), (1, 5, 1)):
        reader = Reader(FakeFeed(), Sampler(Sequential(), Share(2)), threads=given)
        reader.use_threads(asked)
        reader.next()
        assert threading.active_count() - before == started
        reader.close()
