"""Nets without their data: every data layer replaced by made-up data of its shape.

So a net can be built, timed and trained where its database is not at hand. Names of
layers and blobs stay, labels are in the range of the losses that read them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from geeps_caffe.config.made_up import MadeUp
from geeps_caffe.device.array import Shape
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.data_shapes import top_shapes
from geeps_caffe.graph.filter import NetState, included
from geeps_caffe.graph.made_up import made_up_values

__all__ = ["MadeUp", "replace_data_layers"]

_KEPT = frozenset({"DummyData", "Parameter"})  # no bottoms, but no data either


def replace_data_layers(source: Source, state: NetState, made_up: MadeUp) -> Source:
    """The net with the data layers of one state replaced.

    A data layer has no bottoms. Where its source can be opened the shape is that of
    its records. Else it follows from crop_size, new_height and new_width, or the
    fields of MemoryData; three channels are taken unless force_gray, is_color or the
    number of mean_values say otherwise. Records of further tops, and of a first one
    named label, are single numbers.

    Raises:
        GraphError: the shape of a layer is not known; it says what to give.
    """
    message = type(source.message)()
    message.CopyFrom(source.message)
    specs = [spec for spec in message.layer if included(spec, state)]
    replaced = []
    for i, spec in enumerate(message.layer):
        if included(spec, state) and not spec.bottom and spec.type not in _KEPT:
            shapes = top_shapes(
                spec, specs, source.place(i), made_up.records, made_up.batch
            )
            _become(spec, shapes, made_up.kind)
            replaced.append(spec)
    found = replace(source, message=message)
    if made_up.kind == "DummyData" and replaced:
        fillers = made_up_values(build_graph(found, state))
        for spec in replaced:
            spec.dummy_data_param.data_filler.extend(fillers[top] for top in spec.top)
    return found


def _become(spec: Any, shapes: Sequence[Shape], kind: str) -> None:
    """Make a layer's message one of an Input or DummyData layer."""
    for field, _ in spec.ListFields():
        if field.name not in ("name", "top", "include", "exclude", "phase"):
            spec.ClearField(field.name)
    spec.type = kind
    param = spec.input_param if kind == "Input" else spec.dummy_data_param
    for shape in shapes:
        param.shape.add().dim.extend(shape)
