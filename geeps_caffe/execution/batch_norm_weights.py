"""BatchNorm statistics as NVCaffe stores them, in a file for Caffe's layers."""

import numpy as np

from geeps_caffe.device.array import Array, count
from geeps_caffe.graph.graph import Node
from prototxt.dialects import batch_norm_blobs, has_plain_statistics
from prototxt.weights import WeightsLayer


def plain_factor(node: Node, layer: WeightsLayer) -> Array | None:
    """The factor that makes sense of statistics stored as they are, with a factor of 0.

    None where the layer's blobs are Caffe's sums, or are no statistics at all.
    """
    if node.type != "BatchNorm" or len(layer.blobs) != 3:
        return None
    stored = [blob.array() for blob in layer.blobs if blob is not None]
    if len(stored) != 3 or stored[2].size != 1:
        return None
    mean, variance, factor = stored
    if not has_plain_statistics(float(factor.reshape(-1)[0]), mean, variance):
        return None
    return np.ones(1, np.float32)


def explain_blobs(node: Node, layer: WeightsLayer) -> str:
    """What an unusual number of blobs means, for the message that refuses them."""
    if node.type != "BatchNorm" or any(blob is None for blob in layer.blobs):
        return ""
    counts = [count(tuple(blob.shape)) for blob in layer.blobs if blob is not None]
    roles = batch_norm_blobs(counts)
    if roles is None or roles.scale is None:
        return ""
    return (
        f" (NVCaffe's with scale_bias: blob {roles.mean} is the mean, "
        f"{roles.variance} the variance, {roles.scale} the scale, {roles.bias} the "
        "bias; here they are a BatchNorm layer and a Scale layer with bias_term)"
    )


def warning(node: Node, path: str) -> str:
    """What users read where a factor of 0 hides statistics."""
    return (
        f"layer {node.name!r} (BatchNorm): in {path} the factor is 0, but mean and "
        "variance are not, as NVCaffe stores them; as in Caffe they count as 0. If "
        "the file is NVCaffe's, read it with Net.copy_from(path, "
        "plain_statistics=True), and save it"
    )
