"""Layers that give the bottom's elements another shape and touch none of them."""

from geeps_caffe.layers.base import Blobs, Layer, Run


class View(Layer):
    """The top is the bottom's memory, data and diff; not in place, as in Caffe."""

    shares = "both"
    backward_reads = frozenset()

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Nothing; the top is a view."""

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; the diff is a view too."""
