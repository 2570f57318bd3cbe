"""The shapes of a data layer's tops, found without its data where that is possible."""

from collections.abc import Mapping, Sequence
from typing import Any

from geeps_caffe.device.array import Shape
from geeps_caffe.errors import DataError, GraphError
from geeps_caffe.graph.sequences import clip_shape
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Setting
from geeps_caffe.layers.sequence_data import is_sequence, read_settings

RecordShapes = Mapping[str, Shape]
_LABELS = frozenset({"label", "labels"})  # where a layer has only this top
_BATCHED = (
    "data_param",
    "image_data_param",
    "hdf5_data_param",
    "memory_data_param",
    "window_data_param",
)


def top_shapes(
    spec: Any, specs: Sequence[Any], place: str, given: RecordShapes, batch: int | None
) -> list[Shape]:
    """The shapes of all tops of a data layer.

    Args:
        spec: the layer's message.
        specs: all layers of its net.
        place: where it stands, for messages.
        given: shapes of records by blob; they go before what is found.
        batch: records in a batch, None for the layer's own number.

    Raises:
        GraphError: the shape of a record is not known; it says what to give.
    """
    tops, records = list(spec.top), given
    if not all(top in records for top in tops):
        records = dict(_own_records(spec, place)) | dict(records)
    missing = [top for top in tops if top not in records]
    if missing:
        raise GraphError(
            f"layer {spec.name!r} ({spec.type})"
            + (f" at {place}" if place else "")
            + f": the shape of {', '.join(map(repr, missing))} is not known without "
            "its data; give that of one record, such as -record "
            f"{missing[0]}=3,227,227"
        )
    count = _batch(spec, specs, batch)
    return [(count, *records[top]) for top in tops]


def _batch(spec: Any, specs: Sequence[Any], batch: int | None) -> int:
    """Records in a batch, as asked for or as the layer has them."""
    clips = clip_shape(spec, specs) if is_sequence(spec) else None
    if clips is not None:
        return clips[0] * clips[1]
    if batch is not None:
        return batch
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
