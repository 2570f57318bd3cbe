"""Test nets: the mean of their outputs over test_iter batches."""

from collections.abc import Callable

import numpy as np

from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import NamedNet
from geeps_caffe.execution.reports import Output, Tested
from geeps_caffe.execution.training import Training
from geeps_caffe.execution.weights import copy_weights


class TestNet:
    """A net in phase TEST on the params of the training net."""

    __test__ = False  # not a test of ours

    def __init__(
        self, index: int, named: NamedNet, training: Training, iterations: int
    ) -> None:
        self.index, self.iterations = index, iterations
        self.net = training.other_net(named)
        self._shared = training.shared(self.net.graph)

    def copy_weights(self, path: str) -> None:
        """Copy weights for layers that the training net has not."""
        if set(self.net.program.params) - set(self._shared):
            copy_weights(self.net, path, self._shared)

    def run(self, stop: Callable[[], bool], with_loss: bool) -> Tested:
        """Test; `stop` is asked before each batch."""
        sums: list[float] = []
        outputs: list[Output] = []
        loss = 0.0
        for batch in range(self.iterations):
            if stop():
                return Tested((), interrupted=True)
            outputs, batch_loss = forward_outputs(self.net, batch)
            loss += batch_loss if with_loss else 0.0
            values = [output.value for output in outputs]
            sums = (
                [a + b for a, b in zip(sums, values, strict=True)] if sums else values
            )
        means = tuple(
            Output(o.index, o.name, total / self.iterations, o.weight)
            for o, total in zip(outputs, sums, strict=True)
        )
        loss /= max(self.iterations, 1)
        return Tested(means, loss if with_loss else None)


def forward_outputs(net: PlannedNet, batch: int) -> tuple[list[Output], float]:
    """One forward pass: the numbers of all outputs, and the loss."""
    net.follow_sources()
    net.executor.begin(batch, np.arange(1, dtype=np.int64))
    net.executor.forward()
    found: list[Output] = []
    for name, weight, data in net.outputs():
        for value in np.asarray(data).reshape(-1):
            found.append(Output(len(found), name, float(value), weight))
    return found, net.loss()
