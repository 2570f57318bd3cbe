"""What a worker exchanges with the others besides gradients."""

from collections.abc import Mapping

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.layers.loss import Loss
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.paramserver import Client


class Exchange:
    """See `layer_code.Others`.

    A loss that counts labels divides its gradient by the mean count of all workers, so
    that the mean of the workers' gradients is the gradient of one large batch, for any
    number of losses. Where tables have slack nobody waits for counts; the count of the
    net's losses is then the weight of this worker's gradient in the mean.
    """

    def __init__(self, client: Client, waits: bool) -> None:
        self._client, self._waits = client, waits
        self.varies = False  # whether batches of the ranks may differ in their shapes

    def watch(self, net: PlannedNet) -> None:
        """Look at the sources of the net that trains."""
        layers = [node.layer for node in net.graph.nodes]
        self.varies = any(isinstance(y, SourceLayer) and y.varies for y in layers)

    def total(self, values: Array) -> Array:
        """The sums over all workers."""
        return np.array(self._client.exchange(values.tolist()))

    def settle(self, loss: Loss) -> None:
        """Put the mean of all workers' normalizers in the place of this one's."""
        if not (loss.normalizer_varies or self.varies):
            return
        if not self._waits:
            self._client.set_normalizer(loss.measure)
            return
        (total,) = self._client.exchange([loss.measure])
        ranks = self._client.ranks
        loss.last_normalizer = max(1.0, total) / ranks


def average_state(net: PlannedNet, client: Client) -> None:
    """Make statistics (BatchNorm's sums) the mean of all workers'."""
    keys = [key for key, param in net.graph.params.items() if param.state]
    own = {key: np.array(net.param(key), np.float64) for key in keys}
    if not keys:
        return
    flat = np.concatenate([own[key].reshape(-1) for key in keys])
    mean = np.array(client.total(flat.tolist())) / client.ranks
    for key, values in _split(mean, own).items():
        net.set_param(key, values)


def _split(flat: Array, like: Mapping[str, Array]) -> dict[str, Array]:
    found, start = {}, 0
    for key, array in like.items():
        found[key] = flat[start : start + array.size].reshape(array.shape)
        start += array.size
    return found
