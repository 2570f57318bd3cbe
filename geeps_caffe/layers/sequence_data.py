"""The video source of LRCN's nets, which name it as a Python layer.

LRCN and GeePS-Caffe read videos by a layer of type "Python" whose file is not part
of the model. Where that file is not at hand, SequenceData stands in for it.
"""

import json
import re
import sys
from dataclasses import asdict, dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, ClassVar

from geeps_caffe.data.clips import ClipFeed, read_videos
from geeps_caffe.data.image_list import read_image_list
from geeps_caffe.data.order import Sequential
from geeps_caffe.data.reader import Reader
from geeps_caffe.data.sampler import Sampler
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import Shapes
from geeps_caffe.errors import LayerError, unknown
from geeps_caffe.layers.source import SourceLayer

_MODULE = re.compile(r"sequence_input_layer(%|\d+)?")  # GeePS appends a worker's number


@dataclass(frozen=True)
class ClipSettings:
    """What param_str may say, as a JSON object; without it, this.

    `frames` of a clip and `videos` of a batch follow from the net's Reshape layers.
    """

    frames: int = 0
    videos: int = 0
    list: str = ""  # "ucf101_split1_trainVideos.txt", or ...test...
    root: str = ""  # "frames", or "flow_images"
    size: tuple[int, ...] = (240, 320)  # rows and columns that frames are resized to
    crop: int = 227
    mean: tuple[float, ...] = ()  # B, G, R; LRCN's


_MEANS = {"RGB": (103.939, 116.779, 128.68), "flow": (128.0, 128.0, 128.0)}


def is_sequence(spec: Any) -> bool:
    """Whether a LayerParameter names LRCN's source of videos."""
    param = spec.python_param
    return (
        spec.type == "Python"
        and _MODULE.fullmatch(param.module) is not None
        and re.fullmatch(r"videoRead(Train|Test)_(RGB|flow)", param.layer) is not None
    )


def stands_in(spec: Any, place: str) -> bool:
    """Whether SequenceData serves this layer: the user's own module comes first."""
    if not is_sequence(spec):
        return False
    module = spec.python_param.module
    folder = str(Path(place.rpartition(":")[0]).absolute().parent)
    return (
        module not in sys.modules
        and PathFinder.find_spec(module, [*sys.path, folder]) is None
    )


def read_settings(spec: Any, title: str) -> ClipSettings:
    """The settings of a layer for which `is_sequence` holds.

    Raises:
        LayerError: param_str is no JSON object, or has unknown names.
    """
    text = spec.python_param.param_str
    try:
        given = json.loads(text) if text else {}
    except ValueError as error:
        raise LayerError(f"{title}: param_str is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise LayerError(f"{title}: param_str {text!r} is no JSON object")
    defaults = asdict(ClipSettings())
    for name, value in given.items():
        if name not in defaults:
            raise LayerError(
                f"{title}: param_str: {unknown('setting', name, defaults)}"
            )
        kind = list if isinstance(defaults[name], tuple) else type(defaults[name])
        if not isinstance(value, kind):
            raise LayerError(
                f"{title}: param_str: {name} is {value!r}, not a {kind.__name__}"
            )
    told: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
    }
    return ClipSettings(**told)


class SequenceData(SourceLayer):
    """Tops data, label and clip_markers of clips of videos; see data/clips.py.

    Videos come in the order of the list. In TRAIN, clips start at a random frame and
    have a random crop and mirror; in TEST they are cut from the middle.
    """

    type_name: ClassVar = "Python"
    tops: ClassVar[tuple[int, int | None]] = (3, 3)

    def open(self) -> tuple[Reader, Shapes]:
        """See SourceLayer."""
        settings = read_settings(self.spec, self.title)
        frames, videos = settings.frames, settings.videos
        if frames < 1 or videos < 1:
            raise ValueError(
                f"clips have {frames} frames and a batch {videos} clips, as no Reshape "
                "layer tells them; say them in python_param, such as param_str: "
                """'{"frames": 16, "videos": 12}'"""
            )
        feed = self._feed(settings)
        share = self.share(videos)
        count = frames * share.batch
        shapes = ((count, *feed.survey()), (count,), (count,))
        return Reader(feed, Sampler(Sequential(), share, self.length)), shapes

    def _feed(self, settings: ClipSettings) -> ClipFeed:
        side, kind = re.findall(r"Train|Test|RGB|flow", self.spec.python_param.layer)
        name = settings.list or f"ucf101_split1_{side.lower()}Videos.txt"
        root = settings.root or {"RGB": "frames", "flow": "flow_images"}[kind]
        videos = read_videos(read_image_list(name), root)
        self.length = len(videos)
        transform = Transform(
            mirror=self.training,
            crop=(settings.crop, settings.crop) if settings.crop else None,
            random_crop=self.training,
            mean_values=settings.mean or _MEANS[kind],
            seed=self.setting.seed,
            use=self.use,
        )
        rows, columns = settings.size or (0, 0)
        size = (rows, columns) if rows else None
        return ClipFeed(videos, settings.frames, transform, size)
