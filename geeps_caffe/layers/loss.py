"""What all losses have in common."""

import logging
from typing import Any, ClassVar

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run, Setting
from geeps_caffe.layers.top_diff import top_diff

_LOG = logging.getLogger(__name__)


class Loss(Layer):
    """A layer whose first top is one number, by default with loss_weight 1.

    `last_normalizer` is what the last forward divided its sum by, and what backward
    divides by. With several workers the mean over all of them takes its place before
    backward, so that the mean of their gradients is that of one large batch.
    """

    bottoms = (2, 2)
    auto_tops = True
    is_loss = True
    no_gradient = frozenset({1})
    fork_fields: ClassVar[tuple[str, ...]] = ()  # fork fields of loss_param it obeys

    def __init__(self, spec: Any, setting: Setting | None = None) -> None:
        super().__init__(spec, setting)
        self.last_normalizer = 1.0
        self.counted: float | None = None  # the normalizer before it was at least 1
        self.is_nan = False  # set where a layer sees it; its origin is told then
        self._warned: set[str] = set()

    def setup(self, bottom: Shapes) -> None:
        """Refuse fields of forks that would have no effect."""
        param = self.spec.loss_param
        for name in ("label_smoothing", "weight_by_label_freqs"):
            if getattr(param, name) and name not in self.fork_fields:
                self.fail(f"loss_param {name} is not known to this layer; remove it")
        self._check_records(bottom)

    def _check_records(self, bottom: Shapes) -> None:
        """Scores and labels must be of as many records."""
        if bottom[0][:1] != bottom[1][:1]:
            self.fail(
                f"bottom[0] has shape {bottom[0]} and bottom[1] {bottom[1]}; their "
                "first extents, the records, must agree"
            )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number."""
        self._check_records(bottom)  # behind a Filter they may be fewer in a pass
        return [()]

    @property
    def normalizer_varies(self) -> bool:
        """Whether ranks with batches of one shape may have other normalizers."""
        return False

    def count(self, measure: float) -> None:
        """Set the normalizer of this batch."""
        self.counted = measure
        self.last_normalizer = max(1.0, measure)

    @property
    def measure(self) -> float:
        """This batch's share in a mean over several workers."""
        return self.last_normalizer if self.counted is None else self.counted

    def rate(self, run: Run, top: Blobs) -> Array:
        """What backward multiplies with: the loss weight over the normalizer."""
        rate: Array = top_diff(run.xp, top[0]) / self.last_normalizer
        return rate

    def warn_once(self, message: str) -> None:
        """Log a warning the first time that it is given."""
        if message not in self._warned:
            self._warned.add(message)
            _LOG.warning("%s: %s", self.title, message)
