"""The InfogainLoss layer."""

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from geeps_caffe.device.array import Array, Shapes, count
from geeps_caffe.layers.base import Blobs, Run, SavedSpec
from geeps_caffe.layers.class_scores import ClassScores, class_scores, softmax
from geeps_caffe.layers.loss import Loss
from geeps_caffe.layers.multinomial_logistic_loss import LOG_THRESHOLD
from geeps_caffe.layers.normalization import normalization_of
from prototxt import BlobProto, PrototxtError
from prototxt.files import read_bytes


class InfogainLoss(Loss):
    """Mean of -sum over classes k of H[label, k] log(softmax(scores)[k]).

    bottom[0] scores with classes along `axis`, bottom[1] labels. The matrix H is
    bottom[2] or the blob in the file `source`. A second top takes the probabilities.
    Items of ignore_label cost nothing.
    """

    type_name = "InfogainLoss"
    bottoms = (2, 3)
    tops = (1, 2)
    no_gradient = frozenset({1, 2})
    backward_reads = frozenset({"bottom1", "bottom2"})

    def setup(self, bottom: Shapes) -> None:
        """Read the matrix where it is a file, and check its size."""
        super().setup(bottom)
        param = self.spec.loss_param
        self.ignored = param.ignore_label if param.HasField("ignore_label") else None
        self.normalization = normalization_of(param)
        classes = self._over(bottom).classes
        self.matrix: Array | None = None
        entries = count(bottom[2]) if len(bottom) > 2 else 0
        if len(bottom) < 3:
            self.matrix = self._read()
            entries = self.matrix.size
        if entries != classes * classes:
            self.fail(
                f"the infogain matrix has {entries} entries; for {classes} classes "
                f"it needs {classes * classes}"
            )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number, then the shape of the probabilities."""
        self._over(bottom)
        return [(), bottom[0]][: max(1, len(self.spec.top))]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """The probabilities."""
        return [SavedSpec(bottom[0])]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The loss, and what it is divided by."""
        xp, over = run.xp, self._over([blob.shape for blob in bottom])
        probabilities = over.scores(run.saved[0])
        probabilities[...] = softmax(xp, over.scores(bottom[0].data))
        rows, counted = self._rows(run, over, bottom)
        costs = rows * xp.log(xp.maximum(probabilities, LOG_THRESHOLD))
        self.last_normalizer = self.normalization.divisor(
            over.items, int(counted.sum()), over.outer
        )
        top[0].data[...] = -costs.sum() / self.last_normalizer
        if len(top) > 1:
            top[1].data[...] = run.saved[0]

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """p times the sum of the label's row, less the row."""
        if bottom[0].diff is None:
            return
        over = self._over([blob.shape for blob in bottom])
        rows, _ = self._rows(run, over, bottom)
        slope = over.scores(run.saved[0]) * rows.sum(axis=1, keepdims=True) - rows
        diff = over.scores(bottom[0].diff)
        diff[...] = slope * self.rate(run, top)

    def _rows(self, run: Run, over: ClassScores, bottom: Blobs) -> tuple[Array, Array]:
        """Each label's row of H (outer, classes, inner), 0 if ignored; who counts."""
        labels, counted = over.labels(self, run.xp, bottom[1].data, self.ignored)
        given: Any = bottom[2].data if self.matrix is None else self.matrix
        square = (over.classes, over.classes)
        matrix = run.xp.asarray(given, run.saved[0].dtype).reshape(square)
        rows = run.xp.moveaxis(matrix[labels], 2, 1)
        return rows * counted[:, None, :], counted

    def _over(self, bottom: Shapes) -> ClassScores:
        return class_scores(self, bottom, self.spec.infogain_loss_param.axis)

    def _read(self) -> Array:
        param = self.spec.infogain_loss_param
        if not param.HasField("source"):
            self.fail(
                "no infogain matrix; give infogain_loss_param source or bottom[2]"
            )
        try:
            blob = BlobProto.FromString(read_bytes(param.source))
        except (PrototxtError, DecodeError) as error:
            self.fail(f"infogain matrix {param.source!r}: {error}")
        return np.array(blob.data or blob.double_data, np.float64)
