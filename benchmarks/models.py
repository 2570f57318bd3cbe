"""The nets that are measured: prototxts of public repositories at fixed batches."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import prototxt
from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.engines.operations import Convolution, InnerProduct
from geeps_caffe.graph.filter import NetState, included
from geeps_caffe.graph.graph import Graph
from prototxt import NetParameter, SolverParameter


@dataclass(frozen=True)
class Model:
    """A prototxt of the corpus's zoo, and what it is fed with."""

    path: str
    batch: int
    image: Shape
    classes: int
    rate: float = 1e-4  # at which rounding does not grow into other losses


MODELS = {
    "lenet": Model(
        "BVLC__caffe/examples/mnist/lenet_train_test.prototxt", 64, (1, 28, 28), 10
    ),
    "cifar10_full": Model(
        "BVLC__caffe/examples/cifar10/cifar10_full_train_test.prototxt",
        100,
        (3, 32, 32),
        10,
    ),
    "alexnet": Model(
        "BVLC__caffe/models/bvlc_alexnet/train_val.prototxt", 16, (3, 227, 227), 1000
    ),
    "googlenet": Model(
        "BVLC__caffe/models/bvlc_googlenet/train_val.prototxt", 16, (3, 224, 224), 1000
    ),
    "resnet50": Model(
        "intel__caffe/models/default_resnet_50/train_val.prototxt",
        8,
        (3, 224, 224),
        1000,
        1e-7,
    ),
    "vgg16": Model(
        "mqingkui__vgg-prototxt/VGG_ILSVRC_16_layers_train_val.prototxt",
        4,
        (3, 224, 224),
        1000,
    ),
}


def read_model(model: Model, corpus: Path) -> Any:
    """The training net's message, its data layers replaced by one Input layer."""
    message = prototxt.read_net(str(corpus / "zoo" / model.path)).message
    return on_one_input(message, model)


def on_one_input(message: Any, model: Model) -> Any:
    """The layers of a training net behind an Input layer of the model's sizes."""
    found = NetParameter(name=message.name)
    source = found.layer.add(name="input", type="Input", top=["data", "label"])
    for shape in ((model.batch, *model.image), (model.batch,)):
        source.input_param.shape.add(dim=shape)
    for layer in message.layer:
        if layer.bottom and included(layer, NetState("TRAIN")):
            found.layer.add().CopyFrom(layer)
    return found


def solver_of(model: Model, message: Any) -> Any:
    """SGD with momentum and weight decay."""
    return SolverParameter(
        net_param=message,
        base_lr=model.rate,
        lr_policy="fixed",
        momentum=0.9,
        weight_decay=5e-4,
        max_iter=1 << 30,
        random_seed=1,
    )


def batch_of(model: Model) -> tuple[Array, Array]:
    """The one batch that is trained on: noise, and labels."""
    random = np.random.default_rng(1)
    images = random.standard_normal((model.batch, *model.image), np.float32)
    return images, random.integers(0, model.classes, model.batch)


def flops(graph: Graph) -> float:
    """Of one training step: each multiplication and addition of the weighted layers.

    Forward is one product; backward one for the weights, and one for the bottom if
    anybody asks for its gradient.
    """
    total = 0.0
    for node in graph.nodes:
        operation = node.layer.operation()
        if isinstance(operation, Convolution | InnerProduct):
            top = graph.values[node.tops[0]].shape
            weights = graph.params[node.params[0]].shape
            each = count(weights) // weights[0]
            if isinstance(operation, InnerProduct):
                each = count(weights) // count(top[operation.axis :])
            total += 2.0 * count(top) * each * (2 + node.propagate[0])
    return total
