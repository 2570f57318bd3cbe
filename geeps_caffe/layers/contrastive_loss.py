"""The ContrastiveLoss layer."""

from geeps_caffe.device.array import Array, Shapes, count
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.loss import Loss


class ContrastiveLoss(Loss):
    """Half the mean over pairs of d ** 2 if similar, else of max(0, margin - d) ** 2.

    bottom[0] and bottom[1] hold the (N, C) features of the pairs, d their distance;
    bottom[2] says for each pair whether it is similar (not 0). With legacy_version
    pairs that are not similar cost max(0, margin - d ** 2).
    """

    type_name = "ContrastiveLoss"
    bottoms = (3, 3)
    no_gradient = frozenset({2})

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number, of vectors of N pairs."""
        for i, shape in enumerate(bottom):
            channels = shape[1:2] if i < 2 else (1,)
            if count(shape[1:]) != count(channels):
                self.fail(
                    f"bottom[{i}] has shape {shape}; expected "
                    + ("(N, C) or (N, C, 1, 1)" if i < 2 else "one number for a pair")
                )
        if bottom[0][1:2] != bottom[1][1:2] or bottom[0][:1] != bottom[2][:1]:
            self.fail(
                f"bottoms of shapes {bottom[0]}, {bottom[1]} and {bottom[2]} do not go "
                "together; expected (N, C), (N, C) and (N,)"
            )
        return super().infer_shapes(bottom)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The loss."""
        xp, param = run.xp, self.spec.contrastive_loss_param
        _, squared, similar = self._pairs(bottom)
        if param.legacy_version:
            others = xp.maximum(param.margin - squared, 0)
        else:
            others = xp.maximum(param.margin - xp.sqrt(squared), 0) ** 2
        self.last_normalizer = float(max(1, len(squared)))
        costs = xp.where(similar, squared, others)
        top[0].data[...] = costs.sum() / self.last_normalizer / 2

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Along the difference of the pair; 1e-4 keeps d from 0, as in Caffe."""
        xp, param = run.xp, self.spec.contrastive_loss_param
        difference, squared, similar = self._pairs(bottom)
        if param.legacy_version:
            others = xp.where(param.margin - squared > 0, -1, 0)
        else:
            distance = xp.sqrt(squared)
            short = xp.maximum(param.margin - distance, 0)
            others = -short / (distance + squared.dtype.type(1e-4))
        rate = xp.where(similar, 1, others) * self.rate(run, top)
        slope = difference * rate[:, None]
        for blob, sign in zip(bottom[:2], (1, -1), strict=True):
            if blob.diff is not None:
                blob.diff[...] = sign * slope.reshape(blob.shape)

    def _pairs(self, bottom: Blobs) -> tuple[Array, Array, Array]:
        """Differences (N, C), squared distances (N,), and which are similar."""
        pairs = bottom[2].data.size
        rows = [blob.data.reshape(pairs, -1) for blob in bottom[:2]]
        difference = rows[0] - rows[1]
        similar = bottom[2].data.reshape(-1).astype(int) != 0
        return difference, (difference * difference).sum(axis=1), similar
