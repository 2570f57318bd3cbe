"""Workers that add their updates up themselves: the first hands the sum in."""

import threading

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import Client, RemoteStore, Scheme, Table
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.transport.inproc import InprocHost
from geeps_caffe.solvers import Hyper
from tests.paramserver.programs import leaving

PATIENCE = 60  # seconds until a stuck test is called so
TABLES = (Table("a", 300), Table("b", 5, dtype="float64"))
CLOCKS = 3


def test_only_the_first_has_room_for_an_update():
    scheme = Scheme(TABLES, "SGD", gathered=True)
    alone = Scheme(TABLES, "SGD")
    assert nbytes(scheme, 3) == nbytes(alone, 1)
    memory = Memory(scheme, 3, allocate(nbytes(scheme, 3)))
    for table, shared in enumerate(TABLES):
        memory.update(0, table, 0)[...] = 2
        for worker in (1, 2):
            zeros = memory.update(worker, table, 0)
            assert not zeros.any()
            assert (zeros.size, zeros.dtype) == (shared.elements, shared.dtype)


def test_a_host_may_gather_where_another_does_not():
    assert Scheme(TABLES, gathered=True).digest == Scheme(TABLES).digest


def test_tables_with_slack_are_refused():
    with pytest.raises(ParameterServerError, match="no table can have slack"):
        Scheme((Table("a", 3, slack=1),), gathered=True)


def steps(client, gathered, reduce, update_of):
    """A worker's run; its weights in the end."""
    hyper = Hyper(rate=0.5, momentum=0.9)
    client.create_tables(TABLES, "SGD", reduce, hyper, gathered)
    client.begin_virtual_iteration()
    handles, sends = [], []
    for table in TABLES:
        handles.append(client.virtual_pre_update(table.name))
        sends.append(client.virtual_update(handles[-1]))
    client.virtual_clock()
    client.finish_virtual_iteration()
    client.start_iterations()
    for clock in range(CLOCKS):
        for handle, send, table in zip(handles, sends, TABLES, strict=True):
            update = client.pre_update(handle)
            update[...] = update_of(client.rank, clock, table)
            client.update(send)
        client.clock()
    client.barrier()
    return [np.array(client.values(t.name)) for t in TABLES]


def train(workers, gathered, reduce, update_of):
    """Each worker's weights in the end."""
    host, found, faults = InprocHost(workers), {}, []

    def run(rank):
        try:
            with leaving(Client(RemoteStore(host.link(rank), rank, workers))) as client:
                found[rank] = steps(client, gathered, reduce, update_of)
        except BaseException as error:
            faults.append(error)
            host.lose(rank, str(error))

    threads = [threading.Thread(target=run, args=(r,)) for r in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert not faults
    return [found[rank] for rank in range(workers)]


def own(rank, clock, table):
    rng = np.random.default_rng([rank, clock, table.size])
    return rng.standard_normal(table.size).astype(table.dtype)


def summed(workers):
    """The sum for the first; what nobody looks at for others."""

    def update(rank, clock, table):
        if rank:
            return np.full(table.size, np.nan, table.dtype)
        row = [own(other, clock, table) for other in range(workers)]
        return row[0] + row[1] if workers == 2 else (row[0] + row[2]) + row[1]

    return update


@pytest.mark.parametrize("reduce", ["mean", "sum"])
@pytest.mark.parametrize("workers", [2, 3])
def test_sums_that_one_hands_in_are_those_of_all(workers, reduce):
    wanted = train(workers, False, reduce, own)
    found = train(workers, True, reduce, summed(workers))
    for mine, theirs in zip(found, wanted, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_share_of_one_worker_is_refused():
    host = InprocHost(1)
    client = Client(RemoteStore(host.link(0), 0, 1))
    client.create_tables(TABLES, gathered=True)
    client.set_normalizer(1.0)
    with pytest.raises(ParameterServerError, match="share 3 in the mean, expected 1"):
        client.set_normalizer(3.0)
    client.shutdown()


@pytest.mark.parametrize("failed", [False, True])
def test_others_hear_of_one_that_left_because_it_failed(failed):
    """Their threads are called then; nobody's is for one that leaves in peace."""
    host = InprocHost(2)
    clients = [Client(RemoteStore(host.link(rank), rank, 2)) for rank in range(2)]
    called = threading.Event()
    clients[0].when_over(called.set)
    clients[1].when_over(lambda: pytest.fail("its own leaving is no news"))
    clients[1].shutdown(failed=failed)
    if failed:
        host.lose(1, "it failed")
        assert called.wait(PATIENCE)
    clients[0].shutdown()
    assert called.is_set() == failed
