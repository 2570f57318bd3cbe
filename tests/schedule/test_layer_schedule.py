from pathlib import Path

import pytest

from geeps_caffe.schedule.algorithm2 import open_rows, table_rows
from geeps_caffe.schedule.layer_schedule import input_bytes, record_layers
from geeps_caffe.schedule.recording import Access
from tests.schedule.nets import TINY, graph_of

ADAMLIKE = Path(__file__).parents[2] / "models" / "adamlike" / "train_val.prototxt"
GIB = 2**30


@pytest.fixture(scope="module")
def adamlike():
    return graph_of(ADAMLIKE.read_text())


def test_a_layer_opens_what_geeps_caffe_opens_and_keeps_what_comes_next():
    ip, row = "ip", 512
    accesses = record_layers(graph_of(TINY))
    assert list(accesses[:7]) == [
        Access("local_access", "data", row),
        Access("local_access", "label", row),
        Access("compute", "forward in"),
        Access("post_local_access", "label", row, keep=True),
        Access("read", ip, row),
        Access("local_access", "ip", row),
        Access("compute", "forward ip"),
    ]
    assert accesses[7] == Access("post_local_access", "data", row, keep=True)
    assert accesses[-1] == Access("clock")


def test_momentum_is_a_local_array_of_backward():
    accesses = record_layers(graph_of(TINY))
    names = [(a.call, a.fetch, a.keep) for a in accesses if a.name == "ip.history"]
    assert names == [
        ("local_access", True, False),
        ("post_local_access", False, True),
    ]


def test_all_that_is_opened_is_closed(adamlike):
    for accesses in (record_layers(graph_of(TINY)), record_layers(adamlike, 2)):
        assert [now for _, now in open_rows(accesses, frozenset())][-1] == 0


def test_rows_of_adamlikes_tables_are_those_of_its_authors_files(adamlike):
    assert table_rows(record_layers(adamlike)) == {
        "conv1": 139,
        "conv2": 8206,
        "conv3": 14771,
        "conv4": 16203,
        "conv5": 6914,
        "fc6": 294024,
        "fc7": 70336,
        "fc8": 515797,
    }


def test_input_and_intermediate_bytes_are_the_papers(adamlike):
    accesses = record_layers(adamlike)
    sizes = {a.name: a.nbytes for a in accesses if a.call == "local_access"}
    assert input_bytes(adamlike, accesses) == pytest.approx(123e6, rel=0.01)
    rest = sum(sizes.values()) - input_bytes(adamlike, accesses)
    assert rest == pytest.approx(2.6e9, rel=0.01)


def test_steps_take_what_figure_11_shows(adamlike):
    """The figure's values were read off its paths; 47 steps."""
    steps = {
        access.name: rows * 512 / GIB
        for access, rows in open_rows(record_layers(adamlike), frozenset())
        if access.call == "compute"
    }
    assert len(steps) == 47
    assert max(steps, key=steps.get) == "backward fc8"
    assert steps["backward fc8"] == pytest.approx(0.759, abs=0.002)
    assert steps["forward conv1"] == pytest.approx(0.396, abs=0.002)
    region = sorted(steps.values())[-4:-1]
    assert region == pytest.approx([0.51, 0.56, 0.70], abs=0.005)


def test_a_split_is_the_blob_that_it_splits():
    text = TINY.replace(
        'layer { name: "loss"',
        'layer { name: "more" type: "Power" bottom: "ip" top: "more" }\n'
        'layer { name: "silence" type: "Silence" bottom: "more" }\n'
        'layer { name: "loss"',
    )
    accesses = record_layers(graph_of(text))
    assert not [a for a in accesses if "split" in a.name]
