"""Which nets a solver names, and in which state they are built."""

import pytest

import prototxt
from geeps_caffe.errors import InputError
from geeps_caffe.execution.nets import solver_nets
from geeps_caffe.execution.nets import test_nets as nets_of_tests
from geeps_caffe.graph.build import build_graph
from geeps_caffe.graph.filter import NetState
from prototxt import PrototxtError
from tests.execution.recordings import inside

BARE = NetState()
NET = 'name: "%s" layer { name: "x" type: "Input" top: "x" }'
OLD = """
  layers { name: "x" type: DUMMY_DATA top: "x"
    dummy_data_param { num: 2 channels: 3 height: 1 width: 1 } }
  layers { name: "ip" type: INNER_PRODUCT bottom: "x" top: "ip" blobs_lr: 1 blobs_lr: 2
    inner_product_param { num_output: 4 } }
"""


@pytest.fixture(autouse=True)
def place(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(NET % name)
    with inside(tmp_path):
        yield tmp_path


def nets(text):
    document = prototxt.parse_solver(text, "s.prototxt")
    return solver_nets(document.message, "s.prototxt", BARE, document)


def names(found):
    return [net.source.message.name for net in (found.training, *found.tests)]


def test_one_net_for_both():
    found = nets('net: "a" test_iter: 1 test_interval: 1')
    assert names(found) == ["a", "a"]
    assert [n.state.phase for n in (found.training, *found.tests)] == ["TRAIN", "TEST"]


def test_test_nets_come_in_caffes_order():
    text = """train_net: "a" test_net: "b" test_net: "c" test_net_param { name: "d" }
    test_iter: 1 test_iter: 2 test_iter: 3 test_interval: 1"""
    assert names(nets(text)) == ["a", "d", "b", "c"]


def test_the_rest_of_test_iter_is_for_the_net_itself():
    text = 'net: "a" test_net: "b" test_iter: 1 test_iter: 2 test_interval: 1'
    assert names(nets(text)) == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'net: "a"\ntrain_net: "b"',
            r"^s\.prototxt:2: a solver needs exactly one of net, net_param, train_net, "
            r"train_net_param; it has net \(line 1\) and train_net \(line 2\); keep",
        ),
        ('net: "a"\nnet_param {}', r"net \(line 1\) and net_param \(line 2\)"),
        ("base_lr: 1", r"it has none of them; add .*net: \"train_val\.prototxt\""),
        ('train_net: "a" test_iter: 1 test_interval: 1', "1 test_iter entries for 0"),
        ('net: "a" test_net: "b" test_interval: 1', "0 test_iter entries for 1"),
        ('net: "a" test_iter: 1', "test_interval is 0"),
        ('base_lr: 1 net: " "', "net is ' '; give a net's file"),
        ('net: "a" test_iter: 1 test_interval: 1 test_net: ""', "test_net is ''; give"),
        (
            'net: "a" test_iter: 1 test_interval: 1 test_state {} test_state {}',
            "2 test_state entries for 1 test nets",
        ),
    ],
)
def test_what_does_not_fit_is_named(text, message):
    with pytest.raises(InputError, match=message):
        nets(text)


def test_states_of_the_solver_are_merged_in():
    text = """net: "a" train_state { level: 3 stage: "x" } test_iter: 1 test_iter: 1
    test_interval: 1 test_state { stage: "y" } test_state { stage: "z" level: 1 }"""
    found = nets(text)
    assert found.training.state == NetState("TRAIN", 3, ("x",))
    assert [n.state for n in found.tests] == [
        NetState("TEST", 0, ("y",)),
        NetState("TEST", 1, ("z",)),
    ]


def test_a_state_with_another_phase_does_not_change_it():
    text = """net: "a" train_state { phase: TEST stage: "x" } test_iter: 1
    test_interval: 1 test_state { phase: TRAIN }"""
    found = nets(text)
    (test,) = found.tests
    assert (found.training.state, test.state) == (
        NetState("TRAIN", 0, ("x",)),
        NetState("TEST"),
    )
    assert [*found.training.warnings, *test.warnings] == [
        "TRAIN net: 'phase: TEST' in its train_state has no effect; remove it",
        "TEST net: 'phase: TRAIN' in its test_state has no effect; remove it",
    ]


@pytest.mark.parametrize("field", ["net_param", "train_net_param"])
def test_an_old_net_inside_the_solver_is_upgraded(field):
    found = nets(f'base_lr: 1\n{field} {{ name: "old"{OLD}}}').training
    assert [layer.type for layer in found.source.message.layer] == [
        "DummyData",
        "InnerProduct",
    ]
    assert found.source.place(0) == "s.prototxt:3"
    assert found.source.place(1) == "s.prototxt:5"
    assert "V1LayerParameter" in found.notes[0].text
    graph = build_graph(found.source, found.state)
    assert list(graph.params) == ["ip/0", "ip/1"]
    assert graph.params["ip/1"].lr_mult == 2


def test_test_nets_inside_the_solver_are_upgraded():
    text = f'net: "a" test_iter: 1 test_interval: 1 test_net_param {{ {OLD} }}'
    assert len(nets(text).tests[0].source.message.layer) == 2


@pytest.mark.parametrize("field", ["net_param", "train_net_param"])
def test_a_mixed_net_inside_the_solver_is_refused(field):
    with pytest.raises(PrototxtError) as found:
        nets(f'{field} {{ {OLD} layer {{ name: "y" type: "Silence" }} }}')
    said = str(found.value)
    assert said.startswith("s.prototxt:2:")
    assert (
        "layer 'y' (line 6) is 'layer { ... }', layer 'x' (line 2) is the old" in said
    )
    assert f"write all layers of {field} as 'layer {{ ... }}'" in said
    assert 'type: "DummyData"' in said  # the first of them, as it should be


def test_several_nets_are_refused_without_lines_where_none_are_known():
    message = prototxt.parse_solver('net: "a" train_net: "b"', "s").message
    with pytest.raises(InputError, match=r"^s: .*it has net and train_net; keep"):
        solver_nets(message, "s", BARE)


def test_a_net_inside_is_upgraded_without_the_document_too():
    message = prototxt.parse_solver(f"net_param {{ {OLD} }}", "s").message
    found = solver_nets(message, "s", BARE).training
    assert [layer.name for layer in found.source.message.layer] == ["x", "ip"]


def test_what_there_is_to_say_of_a_file_is_said_once(place):
    (place / "old").write_text(OLD)
    found = nets('net: "old" test_iter: 1 test_interval: 1')
    texts = [text for _, text in found.remarks()]
    assert len(texts) == len(set(texts)) == 2
    assert "deprecated V1LayerParameter: old" in texts[0]


def test_a_net_that_is_there_from_another_folder_is_named(tmp_path):
    (tmp_path / "root" / "examples").mkdir(parents=True)
    (tmp_path / "root" / "examples" / "net").write_text(NET % "n")
    message = prototxt.parse_solver('net: "examples/net"', "s").message
    with pytest.raises(InputError, match="run in that folder"):
        solver_nets(message, str(tmp_path / "root" / "examples" / "s"), BARE)


def test_a_missing_net_is_named():
    with pytest.raises(PrototxtError, match="no such file"):
        nets('net: "nowhere"')


def test_without_test_nets_nothing_is_read():
    message = prototxt.parse_solver('train_net: "nowhere"', "s").message
    assert nets_of_tests(message, "s") == []
