"""The InfogainLoss layer."""

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from geeps_caffe.device.array import Array, Shapes, count
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.class_scores import ClassScores
from geeps_caffe.layers.multinomial_logistic_loss import LOG_THRESHOLD
from geeps_caffe.layers.probability_loss import ProbabilityLoss
from prototxt import BlobProto, PrototxtError
from prototxt.files import read_bytes


class InfogainLoss(ProbabilityLoss):
    """Mean of -sum over classes k of H[label, k] log(softmax(scores)[k]).

    The softmax is along `axis`. The matrix H is bottom[2] or the blob in the file
    `source`.
    """

    type_name = "InfogainLoss"
    bottoms = (2, 3)
    no_gradient = frozenset({1, 2})
    backward_reads = frozenset({"bottom1", "bottom2"})

    @property
    def class_axis(self) -> int:
        """That of infogain_loss_param."""
        return int(self.spec.infogain_loss_param.axis)

    def setup(self, bottom: Shapes) -> None:
        """Read the matrix where it is a file, and check its size."""
        super().setup(bottom)
        classes = self.over(bottom).classes
        self.matrix = self._read() if len(bottom) < 3 else None
        entries = count(bottom[2]) if self.matrix is None else self.matrix.size
        if entries != classes * classes:
            self.fail(
                f"the infogain matrix has {entries} entries; for {classes} classes "
                f"it needs {classes * classes}"
            )

    def total(self, run: Run, over: ClassScores, bottom: Blobs) -> tuple[Array, int]:
        """The logarithms of all probabilities, weighted by the label's row."""
        xp = run.xp
        labels, counted = over.labels(self, xp, bottom[1].data, self.ignored)
        floored = xp.maximum(over.scores(run.saved[0]), LOG_THRESHOLD)
        costs = self._rows(run, over, labels, bottom) * xp.log(floored)
        total: Array = -xp.where(counted[:, None, :], costs, 0).sum()
        return total, int(counted.sum())

    def slope(
        self, run: Run, over: ClassScores, top: Blobs, bottom: Blobs, out: Array
    ) -> None:
        """p times the sum of the label's row, less the row."""
        labels, counted = over.labels(self, run.xp, bottom[1].data, self.ignored)
        rows = self._rows(run, over, labels, bottom)
        out[...] = over.scores(run.saved[0]) * rows.sum(axis=1, keepdims=True) - rows
        out *= self.rate(run, top)
        if self.ignored is not None:
            run.xp.copyto(out, 0, where=~counted[:, None, :])

    def _rows(self, run: Run, over: ClassScores, labels: Array, bottom: Blobs) -> Array:
        """Each label's row of H, (outer, classes, inner)."""
        given: Any = bottom[2].data if self.matrix is None else self.matrix
        square = (over.classes, over.classes)
        matrix = run.xp.asarray(given, run.saved[0].dtype).reshape(square)
        rows: Array = run.xp.moveaxis(matrix[labels], 2, 1)
        return rows

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
