"""LAYERS: the table from a layer's type in a prototxt to its class."""

from geeps_caffe.layers.base import Layer
from geeps_caffe.layers.relu import ReLU

LAYERS: dict[str, type[Layer]] = {
    "ReLU": ReLU,
}

__all__ = ["LAYERS", "Layer"]
