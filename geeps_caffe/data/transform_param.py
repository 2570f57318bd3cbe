"""From transform_param in a net to a Transform, with every setting checked."""

from dataclasses import replace
from typing import Any

from geeps_caffe.data.decode import Colour
from geeps_caffe.data.mean import read_mean
from geeps_caffe.data.transform import Transform

# Fields of forks that change pixels in ways that we don't have.
_OTHER_ARITHMETIC = (
    "flow",
    "resize_param",
    "noise_param",
    "distort_param",
    "expand_param",
    "img_rand_resize_lower",
    "img_rand_resize_upper",
    "rand_resize_ratio_lower",
    "rand_resize_ratio_upper",
    "vertical_stretch_lower",
    "vertical_stretch_upper",
    "horizontal_stretch_lower",
    "horizontal_stretch_upper",
    "random_resize_param",
    "random_aspect_ratio_param",
    "bgr2rgb",
    "pad",
)


def read_transform(param: Any, training: bool, seed: int, use: int) -> Transform:
    """The Transform of a TransformationParameter message.

    `use` is the salt of the layer's random numbers.

    Raises:
        ValueError: settings that contradict each other, or that only a fork has.
        DataError: the mean file can't be read.
    """
    refuse_fields(param, _OTHER_ARITHMETIC, "transform_param")
    transform = Transform(
        scale=param.scale,
        mirror=param.mirror,
        crop=_crop(param),
        random_crop=training,
        mean_values=tuple(param.mean_value),
        seed=param.random_seed if param.random_seed >= 0 else seed,
        use=use,
    )
    if not param.HasField("mean_file"):
        return transform
    if param.mean_value:
        raise ValueError(
            f"transform_param has both mean_file {param.mean_file!r} and mean_value "
            f"{list(param.mean_value)}; keep one of them"
        )
    mean = read_mean(param.mean_file)
    return replace(transform, mean=mean, mean_file=param.mean_file)


def read_colour(param: Any, force: bool = False) -> Colour:
    """How images are decoded: as force_color or force_gray say.

    Raises:
        ValueError: both are set.
    """
    if param.force_color and param.force_gray:
        raise ValueError("force_color and force_gray are both set; keep one of them")
    if param.force_color or force:
        return Colour.COLOUR
    return Colour.GREY if param.force_gray else Colour.NATIVE


def refuse_fields(param: Any, fields: tuple[str, ...], where: str) -> None:
    """Refuse fields of forks that are set to more than their default.

    Raises:
        ValueError: it names all of them.
    """
    found = [
        name
        for name in fields
        if param.HasField(name)
        and getattr(param, name) != param.DESCRIPTOR.fields_by_name[name].default_value
    ]
    if found:
        raise ValueError(
            f"{where} has fields of other Caffes that change the data and are not "
            f"supported: {', '.join(found)}; take them out"
        )


def _crop(param: Any) -> tuple[int, int] | None:
    side = param.crop_size
    rows, columns = param.crop_h or side, param.crop_w or side
    if bool(rows) != bool(columns):
        raise ValueError("crop_h and crop_w must be set together")
    return (rows, columns) if rows else None
