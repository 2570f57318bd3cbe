"""What workers see to before they train: that all read the same data."""

from types import SimpleNamespace

import pytest

import prototxt
from geeps_caffe.errors import DataError
from geeps_caffe.execution.agreement import check_records
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from tests.execution.recordings import inside
from tests.execution.small import NET, make_place


class Among:
    """The client of rank 0, whose fellows find other numbers of records."""

    rank = 0

    def __init__(self, *others):
        self.ranks = 1 + len(others)
        self.others = others

    def total(self, values):
        (mine, square) = values
        return [
            mine + sum(self.others),
            square + sum(n * n for n in self.others),
        ]


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
