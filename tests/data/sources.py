"""Source layers for tests."""

from contextlib import contextmanager

import numpy as np

import prototxt
from geeps_caffe.device.philox import Stream
from geeps_caffe.layers.base import Blob, Run, Setting
from geeps_caffe.layers.data import Data
from geeps_caffe.layers.hdf5_data import HDF5Data
from geeps_caffe.layers.image_data import ImageData
from geeps_caffe.layers.window_data import WindowData

LAYERS = {c.type_name: c for c in (Data, HDF5Data, ImageData, WindowData)}


@contextmanager
def sources():
    """A function from a net's text to its first layer, opened; all are closed."""
    made = []

    def make(text, phase="TRAIN", **setting):
        spec = prototxt.parse_net(text, "net.prototxt").message.layer[0]
        place = "net.prototxt:1"
        layer = LAYERS[spec.type](spec, Setting(phase=phase, place=place, **setting))
        made.append(layer)
        layer.infer_shapes([])
        return layer

    yield make
    for layer in made:
        layer.close()


def forward(layer):
    """The tops after a forward."""
    shapes = layer.pending_shapes() or layer.infer_shapes([])
    top = [Blob(np.full(shape, np.nan, np.float32)) for shape in shapes]
    layer.forward(Run(np, (), (), Stream(1, 0, 0, np.arange(1))), [], top)
    return [blob.data for blob in top]


def labels(layer, batches):
    """The labels of some batches, each a list."""
    return [forward(layer)[1].astype(int).tolist() for _ in range(batches)]
