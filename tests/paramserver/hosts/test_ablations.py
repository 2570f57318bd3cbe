"""What tables, overlap and slack are worth: the shape of the paper's figure 14."""

import numpy as np
import pytest

from geeps_caffe.paramserver import Table
from tests.paramserver.hosts.timed import TimedNetwork

LAYERS = 6
SIZE = 4096  # elements of a layer
FORWARD, BACKWARD = 1.0, 2.0  # seconds of a layer
STEPS = 8
COMPUTING = LAYERS * (FORWARD + BACKWARD) * STEPS
RATE = LAYERS * SIZE * 4 / (0.6 * COMPUTING / STEPS)  # sending alone takes 60 %


def training(tables, slack):
    """A net of LAYERS layers on so many tables."""

    def program(client, network):
        each = LAYERS // tables
        shared = [Table(f"t{t}", each * SIZE, slack=slack) for t in range(tables)]
        client.create_tables(shared, rule="add")
        client.begin_virtual_iteration()
        reads = [client.virtual_read(t.name) for t in shared]
        opened = [client.virtual_pre_update(t.name) for t in reversed(shared)]
        closed = []
        for number, update in enumerate(opened):
            send = client.virtual_update(update)
            closed.append((send, client.virtual_post_read(reads[-1 - number])))
        client.virtual_clock()
        client.finish_virtual_iteration()
        client.start_iterations()
        for _ in range(STEPS):
            step(client, network, each, reads, opened, closed)
        client.barrier()
        return client.values("t0")[0]

    return program


def step(client, network, each, reads, opened, closed):
    """Forward over all layers, then backward; `each` layers have a table."""
    for read in reads:
        client.read(read)
        network.compute(client.rank, each * FORWARD)
    for update in opened:
        client.pre_update(update)[...] = 1.0
    for send, done in closed:
        network.compute(client.rank, each * BACKWARD)
        client.update(send)
        client.post_read(done)
    client.clock()


def stall(tables, slack, overlap=True):
    """Share of computing that two workers on two hosts wait beside it."""
    network = TimedNetwork((1, 1), training(tables, slack), RATE, overlap)
    np.testing.assert_array_equal(network.run(), STEPS)
    return network.seconds / COMPUTING - 1


@pytest.fixture(scope="module")
def stalls():
    return {
        "single": stall(1, 0),
        "single, slack 1": stall(1, 1),
        "layers": stall(LAYERS, 0),
        "layers, slack 1": stall(LAYERS, 1),
        "layers, no overlap": stall(LAYERS, 0, overlap=False),
    }


def test_a_table_for_each_layer_hides_what_a_single_table_waits_for(stalls):
    assert stalls["single"] > 0.5  # all of it
    assert stalls["layers"] < 0.15


def test_slack_helps_a_single_table_and_gains_little_where_layers_have_their_own(
    stalls,
):
    assert stalls["single, slack 1"] < 0.5 * stalls["single"]
    gained = stalls["layers"] - stalls["layers, slack 1"]
    assert gained < 0.2 * (stalls["single"] - stalls["layers"])


def test_without_overlap_layers_wait_as_a_single_table_does(stalls):
    assert abs(stalls["layers, no overlap"] - stalls["single"]) < 0.1
