"""Weights of a running net, written to files."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import prototxt
from geeps_caffe.device.array import Array
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.sharing import ownership
from geeps_caffe.files import DISK, FileSystem, Writer, write_atomically
from geeps_caffe.graph.graph import Graph
from prototxt.weights import write_weights


def net_message(graph: Graph) -> Any:
    """The net as Caffe writes it beside its weights: all layers, Splits included."""
    net = prototxt.NetParameter(name=graph.name)
    for node in graph.nodes:
        layer = net.layer.add()
        layer.CopyFrom(node.layer.spec)
        layer.phase = 0 if node.layer.setting.phase == "TRAIN" else 1
        if node.layer.is_loss and not layer.loss_weight:
            layer.loss_weight.append(1.0)
    return net


def weights_writer(
    net: PlannedNet, hdf5: bool, diffs: Mapping[str, Array] | None = None
) -> Writer:
    """What writes the net's weights, copied now, as a binary or an HDF5 file.

    Args:
        net: the net.
        hdf5: which of the two.
        diffs: params' diffs by key, written beside them (snapshot_diff).
    """
    message = net_message(net.graph)
    beside = None if diffs is None else _by_layer(net, diffs)
    blobs = layer_blobs(net)
    if not hdf5:
        return lambda file: write_weights(file, message, blobs, beside)
    from prototxt.hdf5_write import write_weights_hdf5  # noqa: PLC0415  h5py is slow

    owned = _owned(net, blobs)
    return lambda file: write_weights_hdf5(file, message, owned, beside)


def layer_blobs(net: PlannedNet) -> list[list[Array]]:
    """Every layer's blobs in their plain shapes, copied."""
    keys = {key for node in net.graph.nodes for key in node.params}
    return _by_layer(net, {key: np.array(net.param(key), np.float32) for key in keys})


def _by_layer(net: PlannedNet, arrays: Mapping[str, Array]) -> list[list[Array]]:
    """The arrays of each layer, in the shapes that it has them in."""
    return [
        [
            arrays[key].reshape(shape)
            for key, shape in zip(node.params, node.param_shapes, strict=True)
        ]
        for node in net.graph.nodes
    ]


def _owned(
    net: PlannedNet, blobs: Sequence[Sequence[Array]]
) -> list[list[Array | None]]:
    """None where a layer before owns the blob, as HDF5 files have it."""
    ownerships = ownership(net.graph.nodes)
    return [
        [array if own else None for array, own in zip(arrays, owned, strict=True)]
        for arrays, owned in zip(blobs, ownerships, strict=True)
    ]


def save_weights(net: PlannedNet, path: str, disk: FileSystem = DISK) -> None:
    """Write a .caffemodel, or HDF5 where the name ends in .h5."""
    write_atomically(path, weights_writer(net, path.endswith(".h5")), disk)
