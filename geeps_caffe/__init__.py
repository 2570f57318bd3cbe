"""geeps-caffe: train Caffe models unchanged on any number of machines.

The names of pycaffe are here: `import geeps_caffe as caffe`.
"""

from importlib import import_module
from typing import Any

from geeps_caffe.version import CAFFE_VERSION as __version__

_PYCAFFE = "geeps_caffe.caffe"


def __getattr__(name: str) -> Any:
    """Load pycaffe's names at first use, so that parts import quickly."""
    if name.startswith("_"):
        raise AttributeError(name)
    module = import_module(_PYCAFFE)
    try:
        return getattr(module, name)
    except AttributeError:
        raise AttributeError(f"module 'geeps_caffe' has no name {name!r}") from None


__all__ = ["__version__"]
