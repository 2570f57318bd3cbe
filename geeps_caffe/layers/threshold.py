"""The Threshold layer."""

from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.neuron import Neuron


class Threshold(Neuron):
    """y = 1 where x > threshold, else 0. May run in place; it has no gradient."""

    type_name = "Threshold"
    backward_reads = frozenset()
    no_gradient = frozenset({0})

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Ones and zeros."""
        del run
        top[0].data[...] = bottom[0].data > self.spec.threshold_param.threshold

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; nobody can ask for a diff."""
