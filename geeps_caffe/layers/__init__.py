"""Layers: LAYERS, their table by type; and pycaffe's function for each type, as `L`.

`from geeps_caffe import layers as L` is what `from caffe import layers as L` is in
pycaffe: `L.ReLU(n.data)` is a layer of a NetSpec. Modules of this package have names
in small letters, types begin with a capital.
"""

from typing import Any

from geeps_caffe.layers import net_spec
from geeps_caffe.layers.base import Layer
from geeps_caffe.layers.table import LAYERS


def __getattr__(name: str) -> Any:
    """The function that makes a layer of this type for a NetSpec."""
    if not name[0].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(net_spec.layers, name)


__all__ = ["LAYERS", "Layer"]
