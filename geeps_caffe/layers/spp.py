"""The SPP layer."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from geeps_caffe.device.array import Shape, Shapes, count
from geeps_caffe.layers.base import (
    Blob,
    Blobs,
    Layer,
    Run,
    SavedSpec,
    saved_of_operation,
)
from geeps_caffe.layers.pooling import Pooling


@dataclass(frozen=True)
class Level:
    """One level of the pyramid: its pooling, and its part of the top."""

    pooling: Pooling
    shape: Shape  # of the pooling's top
    begin: int
    saved: tuple[SavedSpec, ...]

    @property
    def end(self) -> int:
        """Behind its last value of a record."""
        return self.begin + count(self.shape[1:])


class SPP(Layer):
    """Spatial pyramid pooling (He et al., 2014) of (N, C, H, W).

    Level i pools 2 ** i by 2 ** i windows that cover the image; the top is all
    levels one after the other, (N, values), or level 0 as it is if it is the only one.
    """

    type_name = "SPP"

    def setup(self, bottom: Shapes) -> None:
        """Check the height."""
        self.height = self.spec.spp_param.pyramid_height
        if self.height < 1:
            self.fail("pyramid_height is 0 or missing; give the number of levels")
        if len(bottom[0]) != 4:
            self.fail(f"the bottom is {bottom[0]}; expected 4 axes (N, C, H, W)")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The windows follow the bottom's size."""
        self.levels: list[Level] = []
        begin = 0
        for number in range(self.height):
            level = self._level(number, bottom[0], begin)
            self.levels.append(level)
            begin = level.end
        return [self.levels[0].shape if self.height == 1 else (bottom[0][0], begin)]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """Those of the levels, level after level."""
        del bottom
        return [spec for level in self.levels for spec in level.saved]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Pool at each level."""
        y = top[0].data.reshape(bottom[0].shape[0], self.levels[-1].end)
        for level, part in self._runs(run):
            pooled = Blob(run.xp.empty((len(y), *level.shape[1:]), y.dtype))
            level.pooling.forward(part, bottom, [pooled])
            y[:, level.begin : level.end] = pooled.data.reshape(
                len(y), level.end - level.begin
            )

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The sum over the levels."""
        if bottom[0].diff is None or top[0].diff is None:
            return
        dy = top[0].diff.reshape(bottom[0].shape[0], self.levels[-1].end)
        bottom[0].diff[...] = 0
        share = Blob(bottom[0].data, run.xp.empty_like(bottom[0].diff))
        for level, part in self._runs(run):
            diff = dy[:, level.begin : level.end]
            diff = diff.reshape(len(dy), *level.shape[1:])
            level.pooling.backward(part, [Blob(diff, diff)], [share])
            bottom[0].diff += share.diff

    def _level(self, number: int, bottom: Shape, begin: int) -> Level:
        pooling = Pooling(self._spec(number, bottom), self.setting)
        pooling.setup([bottom])
        shape = pooling.infer_shapes([bottom])[0]
        operation = pooling.operation()
        if operation is None:
            saved = pooling.saved_specs([bottom])
        else:
            ports = {"bottom0": bottom, "top0": shape}
            saved = saved_of_operation(operation, ports, np.dtype(np.float32))
        return Level(pooling, shape, begin, tuple(saved))

    def _spec(self, number: int, bottom: Shape) -> Any:
        """The entry of a Pooling layer with 2 ** number windows along each axis."""
        spec, windows = type(self.spec)(), 2**number
        spec.name, spec.pooling_param.pool = self.spec.name, self.spec.spp_param.pool
        for side, extent in zip("hw", bottom[2:], strict=True):
            kernel = -(-extent // windows)
            pad = (kernel * windows - extent + 1) // 2
            if pad >= kernel:
                self.fail(
                    f"the bottom {bottom} is too small for {windows} windows along an "
                    f"axis of {extent}; reduce pyramid_height to {number} or less"
                )
            for field, value in (("kernel", kernel), ("stride", kernel), ("pad", pad)):
                setattr(spec.pooling_param, f"{field}_{side}", value)
        return spec

    def _runs(self, run: Run) -> Iterator[tuple[Level, Run]]:
        """Each level, with its saved arrays and random numbers of its own."""
        ends = [0]
        for level in self.levels:
            ends.append(ends[-1] + len(level.saved))
        for number, (level, (begin, end)) in enumerate(
            zip(self.levels, pairwise(ends), strict=True)
        ):
            random = replace(run.random, layer=run.random.layer + (number << 16))
            yield level, replace(run, saved=run.saved[begin:end], random=random)
