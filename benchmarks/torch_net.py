"""A net's message as a PyTorch module, for the layer types of the measured nets.

As a user of PyTorch would write it: ReLU and Dropout in place, BatchNorm and the Scale
behind it as one. Data layers must have been replaced by an Input layer.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from geeps_caffe.device.array import Array
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.pooling import Pooling
from prototxt import enum_name

Run = Callable[[list[Tensor]], Tensor]


class TorchNet:
    """Runs a graph; `params` are by our keys, such as "conv1/0"."""

    def __init__(self, graph: Graph, weights: Mapping[str, Array]) -> None:
        self.graph = graph
        self.params = {
            key: torch.tensor(values).requires_grad_(not graph.params[key].state)
            for key, values in weights.items()
        }
        #: Layer -> the values that Dropout keeps; drawn at random where absent.
        self.masks: dict[str, Tensor] = {}
        self._skipped: set[str] = set()  # Scales that run with their BatchNorm
        self._rows = [(node, self._make(node)) for node in graph.nodes]

    def to_channels_last(self) -> None:
        """Lay out all weights of convolutions so."""
        for key, tensor in self.params.items():
            if tensor.ndim == 4:
                last = tensor.detach().to(memory_format=torch.channels_last)
                self.params[key] = last.requires_grad_()
        self._rows = [(node, self._make(node)) for node in self.graph.nodes]

    def groups(self, rate: float, decay: float) -> list[dict[str, Any]]:
        """The optimizer's groups: parameters of one rate and decay."""
        found: dict[tuple[float, float], list[Tensor]] = {}
        for key, tensor in self.params.items():
            param = self.graph.params[key]
            if tensor.requires_grad and param.lr_mult:
                found.setdefault((param.lr_mult, param.decay_mult), []).append(tensor)
        return [
            {"params": params, "lr": rate * lr, "weight_decay": decay * mult}
            for (lr, mult), params in found.items()
        ]

    def loss(self, images: Tensor, labels: Tensor) -> Tensor:
        """The weighted sum of the losses."""
        values = dict(zip(self.graph.nodes[0].tops, (images, labels), strict=True))
        total = torch.zeros(())
        for node, run in self._rows[1:]:
            bottoms = [values[name] for name in node.bottoms]
            top = run(bottoms)
            for name in node.tops:  # a Split has several
                values[name] = top
            if any(node.loss_weights):
                total = total + node.loss_weights[0] * top
        return total

    def _make(self, node: Node) -> Run:
        return getattr(self, f"_{node.type.lower()}")(node)

    # -- layer types -----------------------------------------------------------

    def _weights(self, node: Node) -> list[Tensor | None]:
        return [*(self.params[key] for key in node.params), None][:2]

    def _input(self, node: Node) -> Run:
        return lambda x: x[0]

    _split = _input

    def _convolution(self, node: Node) -> Run:
        operation = node.layer.operation()
        weight, bias = self._weights(node)
        return lambda x: functional.conv2d(
            x[0],
            weight,
            bias,
            operation.stride,
            operation.pad,
            operation.dilation,
            operation.group,
        )

    def _innerproduct(self, node: Node) -> Run:
        weight, bias = self._weights(node)
        return lambda x: functional.linear(x[0].flatten(1), weight, bias)

    def _pooling(self, node: Node) -> Run:
        layer = node.layer
        assert isinstance(layer, Pooling)
        operation = layer.operation()
        window = (operation.kernel, operation.stride, operation.pad)
        if enum_name(layer.spec.pooling_param, "pool") == "MAX":
            return lambda x: functional.max_pool2d(x[0], *window, ceil_mode=True)
        return lambda x: functional.avg_pool2d(x[0], *window, ceil_mode=True)

    def _relu(self, node: Node) -> Run:
        return lambda x: functional.relu(x[0], inplace=node.in_place)

    def _lrn(self, node: Node) -> Run:
        param = node.layer.spec.lrn_param
        if enum_name(param, "norm_region") != "ACROSS_CHANNELS":
            return _lrn_within(param.local_size, param.alpha, param.beta)
        numbers = (param.local_size, param.alpha, param.beta, param.k)
        return lambda x: functional.local_response_norm(x[0], *numbers)

    def _dropout(self, node: Node) -> Run:
        ratio = node.layer.spec.dropout_param.dropout_ratio

        def run(x: list[Tensor]) -> Tensor:
            mask = self.masks.get(node.name)
            if mask is None:
                return functional.dropout(x[0], ratio)
            return x[0] * mask / (1 - ratio)

        return run

    def _concat(self, node: Node) -> Run:
        return lambda x: torch.cat(x, 1)

    def _eltwise(self, node: Node) -> Run:
        assert enum_name(node.layer.spec.eltwise_param, "operation") == "SUM"
        return lambda x: x[0] + x[1]

    def _batchnorm(self, node: Node) -> Run:
        param = node.layer.spec.batch_norm_param
        mean, variance = (self.params[key] for key in node.params[:2])
        scale = self._scale_behind(node)
        weights = self._weights(scale) if scale else [None, None]
        momentum = 1 - param.moving_average_fraction
        return lambda x: functional.batch_norm(
            x[0], mean, variance, *weights, True, momentum, param.eps
        )

    def _scale_behind(self, node: Node) -> Node | None:
        following = self.graph.nodes[node.index + 1]
        if following.type != "Scale" or following.bottoms != node.tops:
            return None
        self._skipped.add(following.name)
        return following

    def _scale(self, node: Node) -> Run:
        assert node.name in self._skipped, "a Scale without a BatchNorm"
        return lambda x: x[0]

    def _softmaxwithloss(self, node: Node) -> Run:
        return lambda x: functional.cross_entropy(x[0], x[1])

    def _accuracy(self, node: Node) -> Run:
        def run(x: list[Tensor]) -> Tensor:
            with torch.no_grad():
                return (x[0].argmax(1) == x[1]).float().mean()

        return run


def _lrn_within(size: int, alpha: float, beta: float) -> Run:
    """WITHIN_CHANNEL: the mean of squares over size x size pixels."""

    def run(x: list[Tensor]) -> Tensor:
        squares = functional.avg_pool2d(x[0] * x[0], size, 1, size // 2)
        return x[0] * (1 + alpha * squares) ** -beta

    return run
