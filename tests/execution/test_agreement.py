"""What workers see to before they train: that all read the same data."""

from types import SimpleNamespace

import numpy as np
import pytest

import prototxt
from geeps_caffe.errors import DataError
from geeps_caffe.execution.agreement import check_records
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.layers.source import SourceLayer
from tests.execution.recordings import inside
from tests.execution.small import NET, make_place


class Told(Exception):
    """What a worker adds to the sums."""


class Listening:
    """A client that asks its worker what it tells."""

    rank, ranks = 1, 2

    def total(self, values):
        raise Told(values)


def told_by(records):
    """What a worker tells that finds so many."""
    with pytest.raises(Told) as told:
        check_records(net_of(records), Listening())
    return told.value.args[0]


class Among:
    """The client of rank 0; its fellows find so many records each."""

    rank = 0

    def __init__(self, *others):
        self.ranks = 1 + len(others)
        self.others = others

    def total(self, values):
        """Added in double precision, one after the other, as agents do."""
        total = np.array(values, np.float64)
        for records in self.others:
            total += told_by(records)
        return total.tolist()


class Records(SourceLayer):
    """A layer of so many records."""

    title = "layer 'data' (Data)"

    def __init__(self, length):
        self.length = length


def net_of(records):
    node = SimpleNamespace(layer=Records(records))
    return SimpleNamespace(graph=SimpleNamespace(nodes=[node]))


@pytest.fixture
def net(tmp_path):
    """A net that reads ten records."""
    make_place(tmp_path, records=10)
    with inside(tmp_path):
        document = prototxt.parse_net(NET, "net.prototxt")
        source = Source(document.message, document.path, document.layer_lines)
        graph = build_graph(source, NetState("TRAIN"))
        yield SimpleNamespace(graph=graph)
        for node in graph.nodes:
            node.layer.close()


@pytest.mark.parametrize("others", [(), (10,), (10, 10, 10)])
def test_workers_with_the_same_data_go_on(net, others):
    check_records(net, Among(*others))


@pytest.mark.parametrize("others", [(9,), (11, 10), (9, 11)])
def test_workers_with_other_data_are_refused(net, others):
    """The last pair has the same mean."""
    total = 10 + sum(others)
    found = rf"layer 'data' .*\(rank 0\) finds 10 records, all \d workers .* {total};"
    with pytest.raises(DataError, match=found):
        check_records(net, Among(*others))


@pytest.mark.parametrize("records", [14_197_123, 1_234_567_891])
def test_the_numbers_of_large_data_are_exact(records):
    """Their squares' sums have more digits than a number of double precision."""
    same = [records] * 99
    check_records(net_of(records), Among(*same))
    with pytest.raises(DataError, match="must read the same data"):
        check_records(net_of(records), Among(*same[1:], records + 1))
