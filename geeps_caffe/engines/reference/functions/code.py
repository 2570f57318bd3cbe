"""What all functions in array-module code are made of."""

from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import ArrayModule


@dataclass(frozen=True)
class ArrayCode:
    """Computes with an array module, in the arrays' own dtype."""

    xp: ArrayModule = np
