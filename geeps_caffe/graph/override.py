"""Nets without their data: every data layer replaced by made-up data of its shape.

So a net can be built, timed and trained where its database is not at hand. Names of
layers and blobs stay, labels are in the range of the losses that read them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from geeps_caffe.device.array import Shape
from geeps_caffe.errors import DataError, GraphError
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState, included
from geeps_caffe.graph.made_up import made_up_values
from geeps_caffe.graph.sequences import clip_shape
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Setting
from geeps_caffe.layers.sequence_data import is_sequence, read_settings

RecordShapes = Mapping[str, Shape]
_KEPT = frozenset({"DummyData", "Parameter"})  # no bottoms, but no data either
_LABELS = frozenset({"label", "labels"})  # where a layer has only this top
_BATCHED = (
    "data_param",
    "image_data_param",
    "hdf5_data_param",
    "memory_data_param",
    "window_data_param",
)


@dataclass(frozen=True)
class MadeUp:
    """How data layers are replaced.

    Attributes:
        records: shapes of one record by blob, such as {"data": (3, 227, 227)}, where
            they don't follow from the net or are to be others.
        batch: records in a batch, where the net's number is to be another.
        kind: "DummyData", or "Input" for tops that the caller fills.
    """

    records: RecordShapes
    batch: int | None = None
    kind: str = "DummyData"


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
            shapes = _top_shapes(spec, specs, source.place(i), made_up)
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


# -- shapes -----------------------------------------------------------------------


def _top_shapes(
    spec: Any, specs: Sequence[Any], place: str, made_up: MadeUp
) -> list[Shape]:
    """The shapes of all tops of a data layer."""
    tops, records = list(spec.top), made_up.records
    if not all(top in records for top in tops):
        records = dict(_own_records(spec, place)) | dict(records)
    missing = [top for top in tops if top not in records]
    if missing:
        raise GraphError(
            f"layer {spec.name!r} ({spec.type})"
            + (f" at {place}" if place else "")
            + f": the shape of {', '.join(map(repr, missing))} is not known without "
            "its data; give that of one record, such as "
            f"{missing[0]}=3,227,227"
        )
    batch = _batch(spec, specs, made_up)
    return [(batch, *records[top]) for top in tops]


def _batch(spec: Any, specs: Sequence[Any], made_up: MadeUp) -> int:
    """Records in a batch, as asked for or as the layer has them."""
    clips = clip_shape(spec, specs) if is_sequence(spec) else None
    if clips is not None:
        return clips[0] * clips[1]
    if made_up.batch is not None:
        return made_up.batch
    if spec.type == "Input":
        return int(spec.input_param.shape[0].dim[0])
    sizes = [getattr(spec, name).batch_size for name in _BATCHED if spec.HasField(name)]
    return int(sizes[0]) if sizes and sizes[0] else 1


def _own_records(spec: Any, place: str) -> dict[str, Shape]:
    """Shapes of one record by top, as far as they are known."""
    if spec.type == "Input":
        shapes = [tuple(shape.dim)[1:] for shape in spec.input_param.shape]
        shapes = shapes * len(spec.top) if len(shapes) == 1 else shapes
        return dict(zip(spec.top, shapes, strict=False))
    opened = _opened(spec, place)
    if opened is not None:
        return {t: s[1:] for t, s in zip(spec.top, opened, strict=True)}
    image = _image(spec)
    known: dict[str, Shape] = dict.fromkeys(spec.top[1:], ())
    if spec.top[0] in _LABELS:
        known[spec.top[0]] = ()
    return ({spec.top[0]: image} if image else {}) | known


def _opened(spec: Any, place: str) -> Sequence[Shape] | None:
    """The shapes that a layer with a source at hand finds there."""
    if spec.type not in LAYERS or spec.type == "Python":
        return None
    layer = LAYERS[spec.type](spec, Setting(place=place))
    try:
        layer.setup(())
        return [tuple(shape) for shape in layer.infer_shapes(())]
    except DataError:
        return None
    finally:
        layer.close()


def _image(spec: Any) -> Shape | None:
    """The shape of an image after the transform, as the net tells it."""
    if is_sequence(spec):
        settings = read_settings(spec, f"layer {spec.name!r}")
        side = settings.crop
        return (3, side, side) if side else (3, *settings.size)
    memory = spec.memory_data_param
    if memory.channels:
        return memory.channels, memory.height, memory.width
    transform, listed = spec.transform_param, spec.image_data_param
    rows = transform.crop_h or transform.crop_size or listed.new_height
    columns = transform.crop_w or transform.crop_size or listed.new_width
    if not rows:
        rows = columns = spec.window_data_param.crop_size
    if not rows or not columns:
        return None
    grey = transform.force_gray or not listed.is_color
    return (1 if grey else len(transform.mean_value) or 3), rows, columns
