"""Layers whose top has the bottom's shape, and what they do when they run in place."""

from typing import Any

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run, SavedSpec, Setting


class Neuron(Layer):
    """One bottom, one top of its shape; may run in place."""

    in_place = True

    def __init__(self, spec: Any, setting: Setting | None = None) -> None:
        super().__init__(spec, setting)
        self.runs_in_place = bool(spec.bottom) and spec.top[:1] == spec.bottom[:1]

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottom's shape."""
        return [bottom[0]]

    def declare_reads(self, *names: str) -> None:
        """Say what backward reads, where that depends on the parameters."""
        # The class says what backward may read, a layer what it reads in this net.
        self.backward_reads = frozenset(names)  # type: ignore[misc]


class InputNeuron(Neuron):
    """A Neuron whose gradient is a function of its input.

    In place the input is gone when backward runs, so forward saves a copy of it.
    """

    backward_reads = frozenset({"bottom0"})

    def setup(self, bottom: Shapes) -> None:
        """Decide whether backward finds the input in the bottom or in the copy."""
        del bottom
        self.read_input()

    def read_input(self, *others: str) -> None:
        """Declare that backward reads the input and `others`."""
        self.declare_reads(*others, *(() if self.runs_in_place else ("bottom0",)))

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """A copy of the input, in place."""
        return [SavedSpec(bottom[0])] if self.runs_in_place else []

    def save_input(self, run: Run, bottom: Blobs) -> None:
        """For forward, before it writes the top."""
        if run.saved and self.runs_in_place:
            run.saved[0][...] = bottom[0].data

    def input(self, run: Run, bottom: Blobs) -> Array:
        """For backward: the bottom as forward saw it."""
        return run.saved[0] if self.runs_in_place else bottom[0].data
