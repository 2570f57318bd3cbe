"""The DummyData layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from geeps_caffe.device.array import Shape, Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run
from geeps_caffe.layers.fillers import fault, fill
from prototxt import FillerParameter

_OLD_FIELDS = ("num", "channels", "height", "width")


class DummyData(Layer):
    """Tops filled by data_filler: one for all tops or one for each; zeros without.

    Shapes are given likewise, as `shape` or in the old num, channels, height, width.
    Fillers that are not constant draw anew at each forward, as a function of seed,
    layer and iteration.

    `keeps_tops` is set by those who leave the tops' memory alone between forwards;
    constants are then filled once, so that what else is written there stays.
    """

    type_name = "DummyData"
    bottoms = (0, 0)
    tops = (1, None)
    is_source = True
    backward_reads = frozenset()
    keeps_tops = False

    def setup(self, bottom: Shapes) -> None:
        """Check shapes and fillers."""
        del bottom
        param = self.spec.dummy_data_param
        self.shapes = self._shapes(param)
        fillers = list(param.data_filler) or [FillerParameter()]
        self.fillers = self._for_tops("data_filler", fillers)
        self.filled: dict[int, Any] = {}  # top -> the array that holds its constant
        self._carried: set[int] = set()  # tops whose values the next array will hold
        for filler, shape in zip(self.fillers, self.shapes, strict=True):
            problem = fault(filler, shape)
            if problem:
                self.fail(f"data_filler: {problem}")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The declared shapes."""
        del bottom
        return self.shapes

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Fill the tops."""
        del bottom
        stream = run.random
        where = [stream.seed, stream.layer, stream.iteration, *stream.records[:1]]
        random = np.random.default_rng([int(number) for number in where])
        for i, (blob, filler) in enumerate(zip(top, self.fillers, strict=True)):
            constant = filler.type == "constant"
            if constant and self.keeps_tops and self._holds(i, blob.data):
                continue
            if run.xp is np:
                fill(blob.data, filler, random)
            else:
                values = np.empty(blob.shape, np.float32)
                fill(values, filler, random)
                blob.data[...] = run.xp.asarray(values)
            self.filled[i] = blob.data

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; there are no bottoms."""

    def carry(self) -> None:
        """The values of tops that were filled have been copied to new arrays."""
        self._carried = set(self.filled)

    def _holds(self, top: int, array: Any) -> bool:
        """Whether an array holds the top's constant, or what was written there."""
        if top in self._carried:
            self._carried.discard(top)
            self.filled[top] = array
        return self.filled.get(top) is array

    def _shapes(self, param: Any) -> list[Shape]:
        old = [name for name in _OLD_FIELDS if len(getattr(param, name))]
        if old and param.shape:
            self.fail(f"dummy_data_param has shape and the old {old[0]}; keep shape")
        if not old:
            shapes = [tuple(shape.dim) for shape in param.shape]
            return self._for_tops("shape", shapes)
        extents = [self._for_tops(f, list(getattr(param, f))) for f in _OLD_FIELDS]
        return list(zip(*extents, strict=True))

    def _for_tops(self, name: str, given: Sequence[Any]) -> list[Any]:
        """One for each top."""
        tops = len(self.spec.top)
        if len(given) not in (1, tops):
            self.fail(
                f"dummy_data_param has {len(given)} {name} entries for {tops} tops; "
                "give one for all tops, or one for each"
            )
        return list(given) if len(given) == tops else list(given) * tops
