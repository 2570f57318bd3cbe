"""The same net on batches of another size."""

from dataclasses import replace
from typing import Any

from geeps_caffe.graph.build import Source
from geeps_caffe.graph.filter import NetState, included

_BATCHED = (
    "data_param",
    "image_data_param",
    "hdf5_data_param",
    "memory_data_param",
    "window_data_param",
)


def with_batch(source: Source, state: NetState, batch: int) -> Source:
    """The net with so many records in every batch of its source layers.

    A batch is the first axis; where it stands in other layers' parameters (a Reshape
    to fixed numbers) the net may not fit together any more.
    """
    message = type(source.message)()
    message.CopyFrom(source.message)
    for spec in message.layer:
        if included(spec, state) and not spec.bottom:
            _set_batch(spec, batch)
    return replace(source, message=message)


def batch_of(source: Source, state: NetState) -> int | None:
    """Records in a batch of the first source layer; None where it does not say."""
    for spec in source.message.layer:
        if included(spec, state) and not spec.bottom:
            for name in _BATCHED:
                if spec.HasField(name) and getattr(spec, name).batch_size:
                    return int(getattr(spec, name).batch_size)
            for shape in _shapes(spec)[:1]:
                return int(shape.dim[0])
    return None


def _set_batch(spec: Any, batch: int) -> None:
    for name in _BATCHED:
        if spec.HasField(name):
            getattr(spec, name).batch_size = batch
    for shape in _shapes(spec):
        shape.dim[0] = batch
    if spec.dummy_data_param.num:
        spec.dummy_data_param.num[:] = [batch] * len(spec.dummy_data_param.num)


def _shapes(spec: Any) -> list[Any]:
    """The shapes of tops that a layer states whole."""
    stated = (*spec.input_param.shape, *spec.dummy_data_param.shape)
    return [shape for shape in stated if shape.dim]
