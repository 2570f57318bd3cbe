"""Messages in, messages out, compared as text."""

import pytest

import prototxt
from geeps_caffe.errors import GraphError
from geeps_caffe.graph.splits import Placed, insert_splits


def split(text):
    message = prototxt.parse_net(text, "net.prototxt").message
    result = prototxt.NetParameter()
    placed = [Placed(spec, f"net.prototxt:{i}") for i, spec in enumerate(message.layer)]
    result.layer.extend(entry.spec for entry in insert_splits(placed))
    return result


def net(text):
    return prototxt.parse_net(text, "net.prototxt").message


def check(text, wanted):
    found = split(text)
    assert prototxt.write_text(found) == prototxt.write_text(net(wanted))
    again = split(prototxt.write_text(found))
    assert again == found


DATA = 'layer { name: "data" type: "Data" top: "data" top: "label" }\n'
IP = """layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" }
"""


def test_a_net_where_every_top_has_one_reader_stays_as_it_is():
    text = (
        DATA
        + IP
        + 'layer { name: "e" type: "EuclideanLoss" bottom: "ip" bottom: "label" }'
    )
    check(text, text)


def test_a_top_with_two_readers_is_split():
    check(
        DATA
        + IP
        + """
        layer { name: "a" type: "ReLU" bottom: "ip" top: "a" }
        layer { name: "b" type: "TanH" bottom: "ip" top: "b" }
        """,
        DATA
        + IP
        + """
        layer { name: "ip_ip_0_split" type: "Split" bottom: "ip"
          top: "ip_ip_0_split_0" top: "ip_ip_0_split_1" }
        layer { name: "a" type: "ReLU" bottom: "ip_ip_0_split_0" top: "a" }
        layer { name: "b" type: "TanH" bottom: "ip_ip_0_split_1" top: "b" }
        """,
    )


def test_a_second_top_of_a_data_layer_is_split_under_its_index():
    check(
        DATA
        + """
        layer { name: "a" type: "Silence" bottom: "label" }
        layer { name: "b" type: "Silence" bottom: "label" }
        """,
        DATA
        + """
        layer { name: "label_data_1_split" type: "Split" bottom: "label"
          top: "label_data_1_split_0" top: "label_data_1_split_1" }
        layer { name: "a" type: "Silence" bottom: "label_data_1_split_0" }
        layer { name: "b" type: "Silence" bottom: "label_data_1_split_1" }
        """,
    )


def test_a_layer_that_reads_a_blob_twice_gets_two_of_its_split():
    check(
        DATA
        + 'layer { name: "e" type: "Eltwise" bottom: "data" bottom: "data" top: "e" }',
        DATA
        + """
        layer { name: "data_data_0_split" type: "Split" bottom: "data"
          top: "data_data_0_split_0" top: "data_data_0_split_1" }
        layer { name: "e" type: "Eltwise" bottom: "data_data_0_split_0"
          bottom: "data_data_0_split_1" top: "e" }
        """,
    )


def test_only_the_last_state_of_a_blob_that_changes_in_place_is_split():
    check(
        DATA
        + IP
        + """
        layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
        layer { name: "a" type: "Silence" bottom: "ip" }
        layer { name: "b" type: "Silence" bottom: "ip" }
        """,
        DATA
        + IP
        + """
        layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
        layer { name: "ip_relu_0_split" type: "Split" bottom: "ip"
          top: "ip_relu_0_split_0" top: "ip_relu_0_split_1" }
        layer { name: "a" type: "Silence" bottom: "ip_relu_0_split_0" }
        layer { name: "b" type: "Silence" bottom: "ip_relu_0_split_1" }
        """,
    )


def test_a_loss_weight_is_a_reader_and_moves_to_the_split():
    check(
        DATA
        + """
        layer { name: "l" type: "EuclideanLoss" bottom: "data" bottom: "label" top: "l"
          loss_weight: 0.5 }
        layer { name: "p" type: "Power" bottom: "l" top: "p" }
        """,
        DATA
        + """
        layer { name: "l" type: "EuclideanLoss" bottom: "data" bottom: "label"
          top: "l" }
        layer { name: "l_l_0_split" type: "Split" bottom: "l"
          top: "l_l_0_split_0" top: "l_l_0_split_1" loss_weight: 0.5 loss_weight: 0 }
        layer { name: "p" type: "Power" bottom: "l_l_0_split_1" top: "p" }
        """,
    )


def test_a_loss_that_nobody_reads_keeps_its_weight():
    text = (
        DATA
        + """
        layer { name: "l" type: "EuclideanLoss" bottom: "data" bottom: "label" top: "l"
          loss_weight: 0.5 }
        """
    )
    check(text, text)


def test_a_loss_weight_of_zero_is_no_reader():
    text = (
        DATA
        + IP
        + """
        layer { name: "a" type: "Accuracy" bottom: "ip" bottom: "label" top: "a"
          loss_weight: 0 }
        layer { name: "s" type: "Silence" bottom: "a" }
        """
    )
    check(text, text)


def test_the_net_that_went_in_is_not_changed():
    message = net(
        DATA
        + 'layer { name: "e" type: "Eltwise" bottom: "data" bottom: "data" top: "e" }'
    )
    before = prototxt.write_text(message)
    insert_splits([Placed(spec, "") for spec in message.layer])
    assert prototxt.write_text(message) == before


def test_a_bottom_that_nobody_makes_is_named_with_its_place():
    with pytest.raises(
        GraphError, match=r"net.prototxt:1, bottom\[0\]: unknown"
    ) as error:
        split(DATA + 'layer { name: "a" type: "ReLU" bottom: "dat" top: "a" }')
    assert "did you mean 'data'? (known: data, label)" in str(error.value)


def test_a_layer_in_place_makes_no_bottom_for_itself():
    with pytest.raises(GraphError, match="unknown bottom blob 'b'") as error:
        split('layer { name: "r" type: "ReLU" bottom: "b" top: "b" }')
    assert "makes it" not in str(error.value)


def test_a_bottom_that_is_made_only_later_is_unknown():
    with pytest.raises(GraphError, match="unknown bottom blob 'b'") as error:
        split(
            DATA
            + """layer { name: "a" type: "ReLU" bottom: "b" top: "a" }
            layer { name: "b" type: "TanH" bottom: "data" top: "b" }"""
        )
    assert "layer 'b' (TanH) at net.prototxt:2 makes it, which" in str(error.value)
