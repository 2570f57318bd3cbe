"""Weights of a running net: first values, and copies from files."""

import logging
import zlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

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
from geeps_caffe.execution.sharing import ownership
from geeps_caffe.graph.graph import Graph, Node, Param
from geeps_caffe.layers.fillers import fill
from prototxt.weights import WeightsLayer, read_weights

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
    pairs = zip(graph.nodes, ownership(graph.nodes), strict=True)
    return {node.name: (node, owned) for node, owned in reversed([*pairs])}


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
