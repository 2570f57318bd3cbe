"""LAYERS: the table from a layer's type in a prototxt to its class."""

from geeps_caffe.layers.base import Layer
from geeps_caffe.layers.data import Data
from geeps_caffe.layers.hdf5_data import HDF5Data
from geeps_caffe.layers.image_data import ImageData
from geeps_caffe.layers.relu import ReLU
from geeps_caffe.layers.window_data import WindowData

LAYERS: dict[str, type[Layer]] = {
    "Data": Data,
    "HDF5Data": HDF5Data,
    "ImageData": ImageData,
    "ReLU": ReLU,
    "WindowData": WindowData,
}

__all__ = ["LAYERS", "Layer"]
