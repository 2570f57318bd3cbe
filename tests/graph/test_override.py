import pytest

import prototxt
from geeps_caffe.errors import GraphError
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.override import (
    MadeUp,
    replace_data_layers,
)
from tests.interpreter import Interpreter

NET = """
layer {{ name: "mnist" type: "{kind}" top: "data" top: "label" {data} }}
layer {{
  name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param {{ num_output: 5 weight_filler {{ type: "xavier" }} }}
}}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "l" }}
"""
LMDB = 'data_param { source: "not/there" batch_size: 7 } '


def replaced(data, records=None, batch=None, kind="Data", by="DummyData"):
    document = prototxt.parse_net(NET.format(data=data, kind=kind))
    made_up = MadeUp(records or {}, batch, by)
    return replace_data_layers(Source(document.message), NetState(), made_up)


def shapes(source):
    values = build_graph(source, NetState()).values
    return values["data"].shape, values["label"].shape


@pytest.mark.parametrize(
    ("kind", "data", "record"),
    [
        ("Data", LMDB + "transform_param { crop_size: 9 }", (3, 9, 9)),
        ("Data", LMDB + "transform_param { crop_h: 4 crop_w: 6 }", (3, 4, 6)),
        (
            "Data",
            LMDB + "transform_param { crop_size: 9 force_gray: true }",
            (1, 9, 9),
        ),
        ("Data", LMDB + "transform_param { crop_size: 9 mean_value: 1 }", (1, 9, 9)),
        (
            "ImageData",
            'image_data_param { source: "no" batch_size: 7 new_height: 4 '
            "new_width: 6 is_color: false }",
            (1, 4, 6),
        ),
        (
            "MemoryData",
            "memory_data_param { batch_size: 7 channels: 2 height: 4 width: 6 }",
            (2, 4, 6),
        ),
        (
            "WindowData",
            'window_data_param { source: "no" batch_size: 7 crop_size: 9 }',
            (3, 9, 9),
        ),
    ],
)
def test_the_shape_follows_from_the_net(kind, data, record):
    images, labels = shapes(replaced(data, kind=kind))
    assert images == (7, *record)
    assert labels == ((7, 1, 1, 1) if kind == "MemoryData" else (7,))


def test_a_record_and_the_batch_may_be_given():
    assert shapes(replaced(LMDB, {"data": (1, 8, 8)}, 2)) == ((2, 1, 8, 8), (2,))


def test_an_unknown_shape_says_what_to_give():
    with pytest.raises(GraphError, match=r"'data' is not known .* data=3,227,227"):
        replaced(LMDB)


def test_names_and_rules_of_the_layer_stay():
    source = replaced(LMDB + "include { phase: TRAIN }", {"data": (2,)})
    layer = source.message.layer[0]
    assert (layer.name, layer.type, list(layer.top)) == (
        "mnist",
        "DummyData",
        ["data", "label"],
    )
    assert layer.include[0].phase == prototxt.TRAIN
    assert not layer.HasField("data_param")


def test_layers_of_another_state_stay():
    source = replaced(LMDB + "include { phase: TEST }")
    assert source.message.layer[0].type == "Data"


def test_labels_are_in_the_range_of_the_loss():
    source = replaced(LMDB, {"data": (2,)}, batch=2000)
    net = Interpreter(prototxt.write_text(source.message), "TRAIN")
    net.forward()
    labels = net.data["label"]
    assert sorted(set(labels.astype(int).tolist())) == [0, 1, 2, 3, 4]


def test_input_layers_may_take_their_place():
    source = replaced(LMDB, {"data": (2,)}, by="Input")
    assert source.message.layer[0].type == "Input"
    assert shapes(source) == ((7, 2), (7,))


def test_clips_have_the_length_that_the_net_reshapes_them_to():
    message = prototxt.parse_net("""
      layer {
        name: "d" type: "Python" top: "data" top: "label" top: "clip_markers"
        python_param { module: "sequence_input_layer3" layer: "videoReadTest_flow" }
      }
      layer {
        name: "r" type: "Reshape" bottom: "clip_markers" top: "c"
        reshape_param { shape { dim: 4 dim: 2 } }
      }
      layer { name: "s" type: "Silence" bottom: "data" bottom: "label" bottom: "c" }
    """).message
    source = replace_data_layers(Source(message), NetState(), MadeUp({}))
    assert shapes(source) == ((8, 3, 227, 227), (8,))
