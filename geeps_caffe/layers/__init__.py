"""LAYERS: the table from a layer's type in a prototxt to its class."""

from geeps_caffe.layers.base import Layer

LAYERS: dict[str, type[Layer]] = {}

__all__ = ["LAYERS", "Layer"]
