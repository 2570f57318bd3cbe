import pytest

from geeps_caffe.graph.batch import batch_of, with_batch
from geeps_caffe.graph.build import Source
from geeps_caffe.graph.filter import NetState
from prototxt import parse_net

TRAIN, TEST = NetState("TRAIN"), NetState("TEST")
LAYERS = {
    "Data": 'data_param { source: "db" batch_size: 64 }',
    "ImageData": 'image_data_param { source: "list" batch_size: 64 }',
    "MemoryData": "memory_data_param { batch_size: 64 channels: 1 height: 2 width: 2 }",
    "HDF5Data": 'hdf5_data_param { source: "list" batch_size: 64 }',
    "Input": "input_param { shape { dim: 64 dim: 3 } }",
    "DummyData": "dummy_data_param { shape { dim: 64 dim: 3 } }",
}


def source_of(kind, more=""):
    text = f'layer {{ name: "in" type: "{kind}" top: "data" {LAYERS[kind]} {more} }}'
    document = parse_net(text, "net.prototxt")
    return Source(document.message, document.path, document.layer_lines)


@pytest.mark.parametrize("kind", LAYERS)
def test_every_source_has_a_batch_that_can_be_another(kind):
    source = source_of(kind)
    assert batch_of(source, TRAIN) == 64
    assert batch_of(with_batch(source, TRAIN, 5), TRAIN) == 5
    assert batch_of(source, TRAIN) == 64


def test_layers_of_another_phase_stay():
    source = source_of("Data", "include { phase: TEST }")
    assert batch_of(source, TRAIN) is None
    assert batch_of(with_batch(source, TRAIN, 5), TEST) == 64


def test_other_axes_stay():
    message = with_batch(source_of("Input"), TRAIN, 5).message
    assert list(message.layer[0].input_param.shape[0].dim) == [5, 3]
