import json

import prototxt
from geeps_caffe.graph.sequences import (
    clip_shape,
    override_clips,
    with_clip_shapes,
)
from geeps_caffe.graph.splits import Placed

SOURCE = """
layer {
  name: "data" type: "Python" top: "data" top: "label" top: "clip_markers"
  python_param { module: "sequence_input_layer" layer: "videoReadTrain_RGB" %s }
}
layer {
  name: "r" type: "Reshape" bottom: "label" top: "l"
  reshape_param { shape { dim: 16 dim: 12 } }
}
"""


def told(settings=""):
    message = prototxt.parse_net(SOURCE % settings).message
    layers = with_clip_shapes([Placed(spec, "") for spec in message.layer])
    return json.loads(layers[0].spec.python_param.param_str)


def test_reshape_layers_tell_how_clips_lie():
    assert told() == {"frames": 16, "videos": 12}


def test_what_the_source_says_itself_goes_before():
    own = """param_str: '{"frames": 8, "root": "r"}'"""
    assert told(own) == {"frames": 8, "videos": 12, "root": "r"}


def test_without_reshape_layers_nothing_is_known():
    message = prototxt.parse_net(SOURCE % "").message
    assert clip_shape(message.layer[0], message.layer[:1]) is None
    alone = Placed(message.layer[0], "")
    assert with_clip_shapes([alone]) == [alone]


def test_clips_can_be_made_shorter():
    message = prototxt.parse_net(SOURCE % "").message
    found = override_clips(message, {"frames": 4, "crop": 99})
    assert list(found.layer[1].reshape_param.shape.dim) == [4, 12]
    told = json.loads(found.layer[0].python_param.param_str)
    assert told == {"frames": 4, "crop": 99}
    assert clip_shape(message.layer[0], message.layer) == (16, 12)
