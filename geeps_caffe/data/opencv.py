"""OpenCV's functions by name, imported when the first is used.

The import takes 40 ms of a start, and many nets read no picture:

    from geeps_caffe.data import opencv as cv2
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What OpenCV calls so."""
    return getattr(import_module("cv2"), name)
