import cv2
import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import TEST, Net
from geeps_caffe.errors import DataError, LayerError
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.layers.python import Python
from geeps_caffe.layers.sequence_data import SequenceData, is_sequence
from tests.execution.recordings import inside

NET = """
layer {{
  name: "data" type: "Python" top: "data" top: "label" top: "clip_markers"
  python_param {{ module: "{module}" layer: "{layer}" {more} }}
}}
layer {{
  name: "r" type: "Reshape" bottom: "label" top: "l"
  reshape_param {{ shape {{ dim: 3 dim: 2 }} }}
}}
"""


def net_text(module="sequence_input_layer%", layer="videoReadTest_RGB", settings=""):
    more = f"param_str: '{settings}'" if settings else ""
    return NET.format(module=module, layer=layer, more=more)


def make(folder, text):
    (folder / "net.prototxt").write_text(text)
    return Net(str(folder / "net.prototxt"), TEST, engine="reference")


@pytest.fixture
def ucf(tmp_path):
    """A folder with LRCN's lists and frames: 3 videos of 5 frames, of one grey."""
    lines = []
    for i in range(3):
        folder = tmp_path / "frames" / f"v_{i}"
        folder.mkdir(parents=True)
        for frame in range(1, 6):
            image = np.full((24, 32, 3), 50 * i + frame, np.uint8)
            cv2.imwrite(str(folder / f"v_{i}.{frame:04d}.png"), image)
        lines.append(f"Class/v_{i} {10 + i}\n")
    for side in ("train", "test"):
        (tmp_path / f"ucf101_split1_{side}Videos.txt").write_text("".join(lines))
    with inside(tmp_path):
        yield tmp_path


def test_lrcn_needs_no_python_file(ucf):
    net = make(ucf, net_text())
    net.forward()
    assert net.blobs["data"].data.shape == (6, 3, 227, 227)
    # clips of 3 of 5 frames from the middle, time-major, less the mean
    greys = net.blobs["data"].data[:, 0, 0, 0] + 103.939
    np.testing.assert_allclose(greys, [2, 52, 3, 53, 4, 54], atol=1e-3)
    assert net.blobs["label"].data.tolist() == [10, 11] * 3
    assert net.blobs["clip_markers"].data.tolist() == [0, 0, 1, 1, 1, 1]
    net.forward()
    assert net.blobs["label"].data.tolist() == [12, 10] * 3


def test_param_str_says_what_is_otherwise(ucf):
    (ucf / "list.txt").write_text("v_2 7\n")
    settings = (
        '{"list": "list.txt", "root": "frames", "size": [10, 12], "crop": 8, '
        '"mean": [1, 2, 3]}'
    )
    net = make(ucf, net_text(settings=settings))
    net.forward()
    assert net.blobs["data"].data.shape == (6, 3, 8, 8)
    np.testing.assert_allclose(
        net.blobs["data"].data[0, :, 0, 0], [101, 100, 99], atol=1e-3
    )
    assert set(net.blobs["label"].data.tolist()) == {7}


@pytest.mark.parametrize(
    ("module", "layer", "known"),
    [
        ("sequence_input_layer", "videoReadTrain_RGB", True),
        ("sequence_input_layer7", "videoReadTest_flow", True),
        ("sequence_input_layers", "videoReadTrain_RGB", False),
        ("sequence_input_layer", "videoReadTrain", False),
    ],
)
def test_it_is_known_by_module_and_class(module, layer, known):
    message = prototxt.parse_net(net_text(module, layer)).message
    assert is_sequence(message.layer[0]) is known


def test_the_users_own_module_comes_first(tmp_path):
    (tmp_path / "sequence_input_layer5.py").write_text("""
import caffe
class videoReadTrain_RGB(caffe.Layer):
    def setup(self, bottom, top):
        pass
    def reshape(self, bottom, top):
        for blob in top:
            blob.reshape(6)
""")
    file = tmp_path / "net.prototxt"
    file.write_text(net_text("sequence_input_layer5", "videoReadTrain_RGB"))
    document = prototxt.read_net(str(file))
    source = Source(document.message, document.path, document.layer_lines)
    layer = build_graph(source, NetState()).nodes[0].layer
    assert isinstance(layer, Python)
    assert not isinstance(layer, SequenceData)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[1", "param_str is no JSON"),
        ("[1]", "is no JSON object"),
        ('{"frame": 3}', "unknown setting 'frame'; did you mean 'frames'"),
        ('{"frames": "3"}', "frames is '3', not a int"),
    ],
)
def test_wrong_settings_are_explained(settings, message, tmp_path):
    with pytest.raises(LayerError, match=message):
        make(tmp_path, net_text(settings=settings))


def test_clips_of_unknown_length_are_refused(ucf):
    text = net_text().split('layer {\n  name: "r"')[0]
    with pytest.raises(DataError, match="say them in python_param"):
        make(ucf, text)


def test_a_missing_list_is_named(tmp_path):
    with (
        inside(tmp_path),
        pytest.raises(DataError, match="ucf101_split1_testVideos"),
    ):
        make(tmp_path, net_text())
