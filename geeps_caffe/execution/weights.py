"""Weights of a running net: first values, copies from files, and back to files."""

import logging
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import prototxt
from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.device.malloc import give_freed_memory_back
from geeps_caffe.errors import InputError
from geeps_caffe.execution.batch_norm_weights import (
    explain_blobs,
    plain_factor,
    warning,
)
from geeps_caffe.execution.in_advance import Job, in_advance
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.files import DISK, FileSystem, Writer, write_atomically
from geeps_caffe.graph.graph import Graph, Node, Param
from geeps_caffe.layers.fillers import fill
from prototxt.weights import WeightsLayer, read_weights, write_weights

_LOG = logging.getLogger(__name__)
_FLOAT_BYTES = 4


def fill_params(
    net: PlannedNet, seed: int, shared: Collection[str] = frozenset()
) -> None:
    """Give every param its filler's values: a function of the seed and its name.

    Those that are `shared` with another net stay as they are.
    """
    params = net.graph.params
    keys = [k for k in params if k in net.program.params and k not in shared]
    jobs = (_filling(params[key], seed) for key in keys)
    for key, values in zip(keys, in_advance(jobs), strict=True):
        net.set_param(key, values)
    give_freed_memory_back()


def _filling(param: Param, seed: int) -> Job:
    make = partial(first_values, param.shape, param.filler, param.key, seed)
    return Job(count(param.shape) * _FLOAT_BYTES, make)


def first_values(shape: Shape, filler: Any, key: str, seed: int) -> Array:
    """What a filler makes of a blob named `key` in a run with this seed."""
    values = np.zeros(shape, np.float32)
    words = (seed & 0xFFFFFFFFFFFFFFFF, zlib.crc32(key.encode()))
    fill(values, filler, np.random.Generator(np.random.Philox(key=words)))
    return values


def copy_weights(
    net: PlannedNet,
    path: str,
    shared: Collection[str] = frozenset(),
    plain_statistics: bool = False,
) -> list[str]:
    """Copy the blobs of all layers that a file and the net have in common, by name.

    Params that are `shared` with another net stay as they are. With
    `plain_statistics` a BatchNorm layer's factor of 0, which NVCaffe writes beside
    mean and variance, is read as 1; otherwise that is warned of.

    Returns:
        the layers of the file that the net has not (Caffe logs them).

    Raises:
        InputError: numbers of blobs or shapes differ; all of them are listed.
    """
    source = read_weights(path)
    nodes = _by_name(net.graph)
    faults: list[str] = []
    ignored: list[str] = []
    wanted: dict[str, Callable[[], Array]] = {}
    for layer in source.layers:
        if layer.name not in nodes:
            ignored.append(layer.name)
            continue
        node, owned = nodes[layer.name]
        faults += _faults(node, owned, layer)
        for key, blob in zip(node.params, layer.blobs, strict=False):
            if blob is not None and key not in shared:
                wanted[key] = blob.array
        factor = plain_factor(node, layer)
        if factor is None or node.params[2] in shared:
            continue
        if plain_statistics:
            wanted[node.params[2]] = factor.copy
        else:
            _LOG.warning("%s", warning(node, path))
    if faults:
        raise InputError(
            f"{path} doesn't fit the net: " + "; ".join(faults) + ". Rename a layer to "
            "learn it from scratch, or give it the shape of the file"
        )
    for key, array in wanted.items():
        net.set_param(key, array())
    give_freed_memory_back()
    return ignored


def left_out(net: PlannedNet, paths: Sequence[str]) -> list[str]:
    """What to say of each layer that learns and has no blobs in any of the files."""
    held = {y.name for path in paths for y in read_weights(path).layers if y.blobs}
    nodes = net.graph.nodes
    given = {key for node in nodes if node.name in held for key in node.params}
    return [
        f"layer {node.name!r} ({node.type}) has no weights in {', '.join(paths)}: it "
        "keeps its first values; if it has another name there, rename it"
        for node in nodes
        if not given.issuperset(node.params)
    ]


def _by_name(graph: Graph) -> dict[str, tuple[Node, Sequence[bool]]]:
    """Layers by name, the first of each, and which of its blobs each owns."""
    pairs = zip(graph.nodes, _ownership(graph.nodes), strict=True)
    return {node.name: (node, owned) for node, owned in reversed([*pairs])}


def _ownership(nodes: Sequence[Node]) -> list[list[bool]]:
    """For every blob of every layer, whether it stands there for the first time."""
    seen: set[str] = set()
    found: list[list[bool]] = []
    for node in nodes:
        found.append([])
        for key in node.params:
            found[-1].append(key not in seen)
            seen.add(key)
    return found


def _faults(node: Node, owned: Sequence[bool], layer: WeightsLayer) -> list[str]:
    """What keeps a layer's blobs from being copied.

    HDF5 files have no blob where the layer shares it; what it owns must be there.
    """
    blobs = list(layer.blobs)
    if layer.in_hdf5:
        blobs += [None] * (len(node.params) - len(blobs))
    absent = [own and b is None for own, b in zip(owned, blobs, strict=False)]
    if len(blobs) != len(node.params) or any(absent):
        stored = sum(blob is not None for blob in blobs)
        return [
            f"layer {node.name!r} ({node.type}) has {len(node.params)} blobs, the file "
            f"has {stored}{explain_blobs(node, layer)}"
        ]
    faults = []
    for i, (shape, blob) in enumerate(zip(node.param_shapes, blobs, strict=True)):
        if blob is not None and not same_shape(shape, tuple(blob.shape)):
            faults.append(
                f"layer {node.name!r} ({node.type}) blob {i} has shape {shape}, the "
                f"file has {tuple(blob.shape)}"
            )
    return faults


def same_shape(shape: Shape, stored: Shape) -> bool:
    """Equal, or equal as legacy 4-D shapes, padded with ones in front."""
    if shape == stored:
        return True
    if len(stored) != 4 or len(shape) > 4:
        return False
    return (1,) * (4 - len(shape)) + tuple(shape) == stored and count(shape) > 0


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
    ownership = _ownership(net.graph.nodes)
    return [
        [array if own else None for array, own in zip(arrays, owned, strict=True)]
        for arrays, owned in zip(blobs, ownership, strict=True)
    ]


def save_weights(net: PlannedNet, path: str, disk: FileSystem = DISK) -> None:
    """Write a .caffemodel, or HDF5 where the name ends in .h5."""
    write_atomically(path, weights_writer(net, path.endswith(".h5")), disk)
