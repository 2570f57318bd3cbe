"""pycaffe's `caffe.net_spec`; it is with the layers."""

from geeps_caffe.layers.net_spec import (
    Function,
    Layers,
    NetSpec,
    Parameters,
    Top,
    assign_proto,
    layers,
    params,
    to_proto,
)

__all__ = [
    "Function",
    "Layers",
    "NetSpec",
    "Parameters",
    "Top",
    "assign_proto",
    "layers",
    "params",
    "to_proto",
]
