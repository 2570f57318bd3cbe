"""Tops that GeePS-Caffe's layers have for their scratch memory; they are left out.

The nets of GeePS name the buffers of LRN and BatchNorm as further tops ("temp1"), so
that its planner may move them to the host. Here the planner knows such memory by
itself. Nobody can read these tops, and Caffe has no meaning for them.
"""

from collections.abc import Sequence

from geeps_caffe.graph.splits import Placed
from geeps_caffe.layers import LAYERS

SCRATCH_TOPS = frozenset({"BatchNorm", "LRN"})


def without_scratch_tops(layers: Sequence[Placed]) -> list[Placed]:
    """The same layers; tops beyond those a type has go, where nobody reads them."""
    read = {blob for placed in layers for blob in placed.spec.bottom}
    return [_trimmed(placed, read) for placed in layers]


def _trimmed(placed: Placed, read: set[str]) -> Placed:
    if placed.spec.type not in SCRATCH_TOPS:
        return placed
    known = LAYERS[placed.spec.type].tops[1]
    extra = list(placed.spec.top[known:])
    if not extra or read.intersection(extra) or placed.spec.loss_weight:
        return placed
    spec = type(placed.spec)()
    spec.CopyFrom(placed.spec)
    del spec.top[known:]
    return Placed(spec, placed.place)
