"""Test nets: the mean of their outputs over test_iter batches, on one rank or all."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.errors import LayerError
from geeps_caffe.execution.agreement import check_records
from geeps_caffe.execution.debug import watched_forward
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import NamedNet
from geeps_caffe.execution.reports import Output, Tested
from geeps_caffe.execution.training import Training, Watch
from geeps_caffe.execution.weights import copy_weights
from geeps_caffe.graph.graph import Graph
from geeps_caffe.graph.sequences import goes_on
from geeps_caffe.layers.source import SourceLayer

MOST_VALUES = 1 << 16  # of all batches, up to which they are added in batch order


@dataclass(frozen=True)
class _Share:
    """Which batches of a test are this rank's."""

    rank: int = 0
    ranks: int = 1

    def batches(self, done: int, iterations: int) -> list[int]:
        """Those of the next test, from 0, if `done` batches were tested before."""
        return [b for b in range(iterations) if (done + b) % self.ranks == self.rank]


class TestNet:
    """A net in phase TEST on the params of the training net.

    Where all its data come from source layers, and no recurrent layer goes on from one
    batch to the next, the ranks test its batches by turns and add up; else rank 0
    tests alone and the others report nothing.
    """

    __test__ = False  # not a test of ours

    def __init__(
        self, index: int, named: NamedNet, training: Training, iterations: int
    ) -> None:
        self.index, self.iterations = index, iterations
        self._training = training
        settings = training.settings
        self._share, self._done = _Share(), 0
        self.mine = True  # whether this rank takes part
        if settings.ranks > 1 and settings.test_on == "all":
            self.net = training.other_net(named, training.nets.spread)
            if _can_be_spread(self.net.graph):
                self._share = _Share(settings.rank, settings.ranks)
            else:
                self.net.close()
        if settings.ranks == 1 or self._share.ranks == 1:
            self.net = training.other_net(named)
            self.mine = settings.rank == 0
        if self._share.ranks > 1 and not settings.own_data:
            check_records(self.net, training.client, f"test net #{index}, ")
        self._shared = training.shared(self.net.graph)
        names = {node.name for node in self.net.graph.nodes}
        trained = (node.name for node in training.net.graph.nodes)
        self.ignored = tuple(name for name in trained if name not in names)

    def copy_weights(self, path: str) -> None:
        """Copy weights for layers that the training net has not."""
        if set(self.net.program.params) - set(self._shared):
            copy_weights(self.net, path, self._shared)

    def run(
        self, stop: Callable[[], bool], with_loss: bool, watch: Watch | None = None
    ) -> Tested:
        """Test; `stop` is asked before each batch. The same result on all ranks.

        `watch` is told about every batch's blobs (debug_info).

        Raises:
            LayerError: see `check_alike`.
        """
        if not self.mine or not self.iterations:
            return Tested((), 0.0 if with_loss else None)
        rows: dict[int, list[float]] = {}  # by batch: outputs, then the loss
        first: list[Output] = []
        for batch in self._share.batches(self._done, self.iterations):
            if stop():
                return Tested((), interrupted=True)
            outputs, loss = forward_outputs(self.net, batch, watch)
            first = first or outputs
            check_alike(first, outputs)
            rows[batch] = [*(output.value for output in outputs), loss]
        self._done += self.iterations
        outputs = first or outputs_now(self.net)
        self._check_others(len(outputs))
        *sums, loss = self._sums(rows, len(outputs) + 1)
        means = tuple(
            Output(o.index, o.name, total / self.iterations, o.weight)
            for o, total in zip(outputs, sums, strict=True)
        )
        return Tested(means, loss / self.iterations if with_loss else None)

    def _check_others(self, width: int) -> None:
        """Refuse outputs of another number on other ranks, as `check_alike` does."""
        graph = self.net.graph
        varied = [b for b in graph.outputs if graph.last_value(b).name in graph.dynamic]
        if self._share.ranks == 1 or not varied:
            return
        ranks, total, squares = self._training.client.total([1, width, width**2])
        if ranks * squares != total**2:  # not all are alike
            names = ", ".join(map(repr, varied))
            raise _other_count(f"workers have other numbers of {names}")

    def _sums(self, rows: Mapping[int, Sequence[float]], width: int) -> list[float]:
        """Over all batches; in their order, as one process has it, if they are few."""
        if self._share.ranks == 1:
            return _in_order(list(rows.values()))
        total = self._training.client.total
        if self.iterations * width > MOST_VALUES:
            return total(_in_order([[0.0] * width, *rows.values()]))
        values = np.zeros((self.iterations, width))
        for batch, row in rows.items():
            values[batch] = row
        flat = total(values.reshape(-1).tolist())
        return _in_order(np.array(flat).reshape(values.shape).tolist())


def check_alike(first: Sequence[Output], outputs: Sequence[Output]) -> None:
    """Refuse to take the mean of outputs that two batches have other numbers of.

    Raises:
        LayerError: so it is; the message names the output.
    """
    was, now = (Counter(o.name for o in some) for some in (first, outputs))
    for name in was | now:
        if was[name] != now[name]:
            raise _other_count(
                f"{name!r} had {was[name]} numbers in a batch, {now[name]} in another"
            )


def _other_count(what: str) -> LayerError:
    return LayerError(
        f"a test has no mean of an output whose size depends on the batch: {what}; "
        "make it one number by a Reduction, or give it to a Silence layer"
    )


def _in_order(rows: Sequence[Sequence[float]]) -> list[float]:
    """The sums of columns, row after row."""
    sums = list(rows[0])
    for row in rows[1:]:
        sums = [a + b for a, b in zip(sums, row, strict=True)]
    return sums


def _can_be_spread(graph: Graph) -> bool:
    """Whether what a batch holds, and what it gives, depends on its number alone."""
    alone = all(
        isinstance(node.layer, SourceLayer) for node in graph.nodes if not node.bottoms
    )
    return alone and not goes_on(graph)


def forward_outputs(
    net: PlannedNet, batch: int, watch: Watch | None = None
) -> tuple[list[Output], float]:
    """One forward pass: the numbers of all outputs, and the loss."""
    net.follow_sources()
    net.executor.begin(batch, np.arange(1, dtype=np.int64))
    if watch is None:
        net.executor.forward()
    else:
        watch(watched_forward(net))
    return outputs_now(net), net.loss()


def outputs_now(net: PlannedNet) -> list[Output]:
    """The numbers of all outputs as they are in memory, one after the other."""
    found: list[Output] = []
    for name, weight, data in net.outputs():
        for value in np.asarray(data).reshape(-1):
            found.append(Output(len(found), name, float(value), weight))
    return found
