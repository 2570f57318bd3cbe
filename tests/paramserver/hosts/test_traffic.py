"""How many bytes go between hosts, and in which order."""

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import Scheme, Table
from geeps_caffe.paramserver.hosts import peer_messages as p
from geeps_caffe.paramserver.hosts.outbox import Letter, Outbox
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.shared_tables import SharedTables
from geeps_caffe.paramserver.hosts.wire_types import find_wire_type
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.messages import Push
from tests.paramserver.hosts.network import ClusterNetwork
from tests.paramserver.programs import Program

SIZE = 64 * 128


@pytest.mark.parametrize("counts", [(1, 1), (2, 2), (1, 1, 1, 1)])
@pytest.mark.parametrize(("wire", "itemsize"), [("fp32", 4), ("bf16", 2)])
def test_a_host_sends_2_n_minus_1_over_n_of_the_model_a_clock(counts, wire, itemsize):
    clocks = 5

    def program(client):
        run = Program(client, [Table("w", SIZE)], rule="add")
        run.start()
        for _ in range(clocks):
            run.step([np.ones(SIZE)])
        client.barrier()
        return client.values("w")[0]

    network = ClusterNetwork(counts, 2, program, wire=wire, whole=False)
    network.run()
    hosts = len(counts)
    expected = clocks * 2 * (hosts - 1) / hosts * SIZE * itemsize
    for host in network.hosts:
        others = 60 * clocks * sum(counts) + 3000  # greetings, meetings, flags
        assert expected <= host.outbox.sent_bytes <= expected + others


def test_hosts_and_channels_without_rows_still_have_clocks():
    """One row, three hosts: two own nothing of it, and hear and say so each clock."""
    clocks, heard = 4, []

    class Overheard(ClusterNetwork):
        def deliver(self, sender, receiver, lane):
            message = self.lines[sender, receiver, lane][0].message
            if isinstance(message, p.Part | p.Rows):
                heard.append((type(message), sender, receiver, message.clock))
            super().deliver(sender, receiver, lane)

    def program(client):
        run = Program(client, [Table("one", 1)], rule="add", reduce="sum")
        run.start()
        for _ in range(clocks):
            run.step([np.ones(1)])
        client.barrier()
        return client.values("one")[0]

    assert Overheard((1, 1, 1), 2, program, whole=False).run() == [12.0] * 3
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    assert sorted(heard, key=str) == sorted(
        (
            (kind, *pair, clock)
            for kind in (p.Part, p.Rows)
            for pair in pairs
            for clock in range(clocks)
        ),
        key=str,
    )


@pytest.mark.parametrize("counts", [(1, 1), (2, 1, 1)])
def test_a_small_table_goes_once_from_each_host_to_each_other(counts):
    """All compute it: nobody waits for an owner's answer."""
    clocks, heard = 4, []

    class Overheard(ClusterNetwork):
        def deliver(self, sender, receiver, lane):
            message = self.lines[sender, receiver, lane][0].message
            if isinstance(message, p.Part | p.Rows):
                heard.append((type(message), sender, receiver, message.clock))
            super().deliver(sender, receiver, lane)

    def program(client):
        run = Program(client, [Table("few", 300)], rule="add", reduce="sum")
        run.start()
        for _ in range(clocks):
            run.step([np.ones(300)])
        client.barrier()
        return client.values("few")[299]

    ranks, hosts = sum(counts), range(len(counts))
    network = Overheard(counts, 2, program, whole=True)
    assert network.run() == [clocks * ranks] * ranks
    pairs = [(a, b) for a in hosts for b in hosts if a != b]
    expected = [(p.Part, *pair, clock) for pair in pairs for clock in range(clocks)]
    assert sorted(heard, key=str) == sorted(expected, key=str)


def test_pieces_are_spread_evenly_over_channels():
    lanes = [
        Letter((0, 0), n, p.Part(0, 0, 0, n, 0, 0.1, 1.0, 1.0), b"").lane
        for n in range(5)
    ]
    counts = [sum(lane % 4 == channel for lane in lanes) for channel in range(4)]
    assert sorted(counts) == [1, 1, 1, 2]


def test_a_late_small_table_overtakes_a_large_one():
    """Backward is done with the top first; the next step needs the bottom first."""
    scheme = Scheme((Table("bottom", 200), Table("top", 2**20)), reduce="sum")
    memory = Memory(scheme, 1, allocate(nbytes(scheme, 1)))
    outbox = Outbox(2)
    tables = SharedTables(
        scheme, memory, Places(("a", "b"), (1, 1)), outbox, find_wire_type("fp32"), 4096
    )
    tables.receive(0, Push(1, 0, 0, 0.0, 1.0))
    for _ in range(200):  # some of the top's pieces are summed, a few are sent
        tables.work()
    sent = [outbox.take(1).message for _ in range(3)]
    assert {part.table for part in sent} == {1}
    tables.receive(0, Push(0, 0, 0, 0.0, 1.0))
    tables.work()
    tables.work()
    following = outbox.take(1).message
    assert isinstance(following, p.Part)
    assert following.table == 0
