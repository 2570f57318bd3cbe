"""The BatchNorm layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Blobs, ParamSpec, Run, SavedSpec
from geeps_caffe.layers.neuron import Neuron
from geeps_caffe.layers.synced_batch_norm import Synced


class BatchNorm(Neuron):
    """y = (x - mean) / sqrt(variance + eps), by channel (axis 1). May run in place.

    Statistics are the batch's in TRAIN, the stored ones in TEST, or as
    use_global_stats says. Stored are three sums, of means, unbiased variances and
    ones, each decaying by moving_average_fraction; the third divides the others.

    A `synced` layer in training takes the statistics of all ranks' batches together.
    """

    type_name = "BatchNorm"

    def setup(self, bottom: Shapes) -> None:
        """Decide about the statistics, and refuse to learn them."""
        param, shape = self.spec.batch_norm_param, bottom[0]
        self.channels = 1 if len(shape) == 1 else shape[1]
        self.declare_reads()
        testing = self.setting.phase == "TEST"
        given = param.HasField("use_global_stats")
        self.stored = param.use_global_stats if given else testing
        if any(spec.lr_mult != 0 for spec in self.spec.param):
            self.fail(
                "param has an lr_mult above 0, but statistics are not learned; leave "
                "param out, or give lr_mult: 0 (the BatchNorm of NVCaffe and GeePS, "
                "which learns a scale and a bias, is a BatchNorm and then a Scale with "
                "bias_term: true here)"
            )

    def remarks(self) -> list[str]:
        """Of batch statistics in a test."""
        if self.setting.phase != "TEST" or self.stored:
            return []
        return [
            "use_global_stats is false in TEST, so results depend on the batch (with a "
            "batch of 1 and no spatial axes all are 0)"
        ]

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottom's; its channels must stay."""
        shape = bottom[0]
        if len(shape) > 1 and shape[1] != self.channels:
            self.fail(
                f"the bottom has become {shape}, but the statistics are for "
                f"{self.channels} channels"
            )
        return [shape]

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """The three sums, from zero."""
        del bottom
        sizes = (self.channels, self.channels, 1)
        return [ParamSpec((size,), state=True) for size in sizes]

    @property
    def synced(self) -> bool:
        """Whether ranks exchange their batches' statistics."""
        setting = self.setting
        training = setting.phase == "TRAIN" and not self.stored
        return setting.synced and setting.ranks > 1 and training

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """Deviations and normalized values, where ranks exchange statistics."""
        return [SavedSpec((self.channels,)), SavedSpec(bottom[0])]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """With all ranks' statistics, or as the operation does."""
        if not self.synced:
            super().forward(run, bottom, top)
            return
        param = self.spec.batch_norm_param
        synced = Synced(run, param.eps, param.moving_average_fraction)
        synced.forward(bottom[0].data, top[0].data)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The same."""
        if not self.synced:
            super().backward(run, top, bottom)
            return
        if bottom[0].diff is not None:
            Synced(run).backward(top[0].diff, bottom[0].diff)

    def operation(self) -> operations.BatchNorm | None:
        """All of it, unless ranks exchange statistics."""
        if self.synced:
            return None
        param = self.spec.batch_norm_param
        return operations.BatchNorm(
            self.stored, param.moving_average_fraction, param.eps
        )
