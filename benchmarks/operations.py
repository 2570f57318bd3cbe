"""Time each operation of known nets on an engine: forward, backward, and reorders.

    python benchmarks/operations.py                    # oneDNN, all nets
    python benchmarks/operations.py --net alexnet --engine reference --threads 1

Bottoms lie as a convolution leaves them, or as the engine asks for. After the names
of the bottom's layout and of the code come the reorders of params that a plan would
insert in backward. Times are milliseconds, the least and the median of the runs.
"""

import argparse
import statistics
import time
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array, Shape, allocate
from geeps_caffe.engines.engine import (
    Call,
    Description,
    Engine,
    Layout,
    Request,
    plain_layout,
)
from geeps_caffe.engines.operations import (
    LRN,
    Activation,
    AveragePooling,
    Convolution,
    InnerProduct,
    MaxPooling,
    Operation,
    Softmax,
)
from geeps_caffe.engines.table import ENGINES, open_engine


@dataclass(frozen=True)
class Layer:
    """A layer to be timed; `first`: nobody asks for the bottom's gradient."""

    name: str
    operation: Operation
    shapes: dict[str, Shape]
    first: bool = False


def convolution(
    name: str,
    bottom: Shape,
    outputs: int,
    kernel: int,
    stride: int = 1,
    pad: int = 0,
    group: int = 1,
    first: bool = False,
) -> Layer:
    """A square convolution with bias."""
    batch, channels, *image = bottom
    spatial = [(i + 2 * pad - kernel) // stride + 1 for i in image]
    square = (kernel, kernel)
    operation = Convolution(
        square, (stride, stride), (pad, pad), (1, 1), group, bias=True
    )
    shapes = {
        "bottom0": bottom,
        "param0": (outputs, channels // group, *square),
        "param1": (outputs,),
        "top0": (batch, outputs, *spatial),
    }
    return Layer(name, operation, shapes, first)


def inner_product(name: str, bottom: Shape, outputs: int) -> Layer:
    """With bias."""
    inputs = int(np.prod(bottom[1:]))
    shapes = {
        "bottom0": bottom,
        "param0": (outputs, inputs),
        "param1": (outputs,),
        "top0": (bottom[0], outputs),
    }
    return Layer(name, InnerProduct(1, False, True), shapes)


def pooling(
    name: str, bottom: Shape, kernel: int, stride: int, pad: int = 0, mean: bool = False
) -> Layer:
    """Square windows, as many as Caffe makes of them."""
    spatial = [-(-(i + 2 * pad - kernel) // stride) + 1 for i in bottom[2:]]
    kind = AveragePooling if mean else MaxPooling
    operation = kind((kernel, kernel), (stride, stride), (pad, pad))
    return Layer(name, operation, {"bottom0": bottom, "top0": (*bottom[:2], *spatial)})


def same(name: str, operation: Operation, bottom: Shape) -> Layer:
    """A top of the bottom's shape."""
    return Layer(name, operation, {"bottom0": bottom, "top0": bottom})


_RELU = Activation("relu")
_LRN = LRN(5, 1e-4, 0.75, 1.0)

NETS = {
    "lenet": [  # batch 64
        convolution("conv1", (64, 1, 28, 28), 20, 5, first=True),
        pooling("pool1", (64, 20, 24, 24), 2, 2),
        convolution("conv2", (64, 20, 12, 12), 50, 5),
        pooling("pool2", (64, 50, 8, 8), 2, 2),
        inner_product("ip1", (64, 50, 4, 4), 500),
        same("relu1", _RELU, (64, 500)),
        inner_product("ip2", (64, 500), 10),
        same("prob", Softmax(1), (64, 10)),
    ],
    "alexnet": [  # batch 16
        convolution("conv1", (16, 3, 227, 227), 96, 11, 4, first=True),
        same("relu1", _RELU, (16, 96, 55, 55)),
        same("norm1", _LRN, (16, 96, 55, 55)),
        pooling("pool1", (16, 96, 55, 55), 3, 2),
        convolution("conv2", (16, 96, 27, 27), 256, 5, 1, 2, 2),
        same("norm2", _LRN, (16, 256, 27, 27)),
        pooling("pool2", (16, 256, 27, 27), 3, 2),
        convolution("conv3", (16, 256, 13, 13), 384, 3, 1, 1),
        convolution("conv4", (16, 384, 13, 13), 384, 3, 1, 1, 2),
        convolution("conv5", (16, 384, 13, 13), 256, 3, 1, 1, 2),
        pooling("pool5", (16, 256, 13, 13), 3, 2),
        inner_product("fc6", (16, 256, 6, 6), 4096),
        inner_product("fc7", (16, 4096), 4096),
        inner_product("fc8", (16, 4096), 1000),
    ],
    "googlenet": [  # batch 16
        convolution("conv1/7x7", (16, 3, 224, 224), 64, 7, 2, 3, first=True),
        pooling("pool1/3x3", (16, 64, 112, 112), 3, 2),
        convolution("conv2/reduce", (16, 64, 56, 56), 64, 1),
        convolution("conv2/3x3", (16, 64, 56, 56), 192, 3, 1, 1),
        convolution("3a/1x1", (16, 192, 28, 28), 64, 1),
        convolution("3a/5x5_reduce", (16, 192, 28, 28), 16, 1),
        convolution("3a/5x5", (16, 16, 28, 28), 32, 5, 1, 2),
        pooling("3a/pool", (16, 192, 28, 28), 3, 1, 1),
        pooling("pool5/7x7", (16, 1024, 7, 7), 7, 1, mean=True),
        inner_product("classifier", (16, 1024), 1000),
    ],
    "other": [
        same("norm of 120", _LRN, (16, 120, 55, 55)),
        same("norm of 3", LRN(3, 1e-4, 0.75, 1.0), (16, 96, 55, 55)),
    ],
}


def home(engine: Engine, shape: Shape) -> Layout:
    """How a convolution on this engine would leave an array."""
    if len(shape) != 4:
        return plain_layout(shape)
    layer = convolution("", (shape[0], 64, *shape[2:]), shape[1], 1)
    found = engine.describe(Request(layer.operation, "forward", layer.shapes))
    return found.layouts["top0"] if found else plain_layout(shape)


def requests(engine: Engine, layer: Layer) -> tuple[list[Request], list[Description]]:
    """Both passes as a plan would ask for them."""
    bottom = layer.shapes["bottom0"]
    given = {} if "param0" in layer.shapes else {"bottom0": home(engine, bottom)}
    forward = Request(layer.operation, "forward", layer.shapes, given)
    first = engine.describe(forward)
    if first is None:
        return [], []
    forward = Request(layer.operation, "forward", layer.shapes, first.layouts)
    first = engine.describe(forward) or first
    diffs = {
        f"{port}.diff": shape
        for port, shape in layer.shapes.items()
        if not (layer.first and port == "bottom0")
    }
    given = dict(first.layouts)
    given["top0.diff"] = given["top0"]
    shapes = {**layer.shapes, **diffs}
    backward = Request(layer.operation, "backward", shapes, given)
    second = engine.describe(backward)
    assert second is not None, f"{layer.name}: forward only"
    return [forward, backward], [first, second]


def bind(
    engine: Engine, request: Request, description: Description, saved: dict[str, Array]
) -> Call:
    """The pass on small random numbers (zeros make no difference, denormals would)."""
    arrays: dict[str, Array] = {}
    for port, layout in description.layouts.items():
        if port in saved:
            arrays[port] = saved[port]
            continue
        block = allocate(layout.nbytes)
        floats = block.view(np.float32)
        floats[...] = np.random.default_rng(1).random(floats.size, np.float32)
        plain = floats.reshape(request.shapes[port]) if layout.plain else block
        arrays[port] = plain
    scratch = allocate(description.scratch) if description.scratch else None
    return engine.bind(request, description, arrays, scratch)


def milliseconds(call: Call, seconds: float = 0.3) -> str:
    """The least and the median time of a call."""
    call()
    times: list[float] = []
    while sum(times) < seconds and len(times) < 200:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return f"{1e3 * min(times):8.2f} {1e3 * statistics.median(times):8.2f}"


def copies(first: Description, second: Description) -> str:
    """The params whose layout differs between the passes."""
    return " ".join(
        f"{port}:{first.layouts[port].name}>{layout.name}"
        for port, layout in second.layouts.items()
        if port.startswith("param")
        and not port.endswith("diff")
        and first.layouts[port].name != layout.name
    )


def report(engine: Engine, net: str) -> None:
    """Print one line per layer of a net."""
    print(f"{net:16} {'forward':>17} {'backward':>17}  implementation")
    for layer in NETS[net]:
        asked, described = requests(engine, layer)
        if not asked:
            print(f"{layer.name:16} left to the reference")
            continue
        saved = {
            f"saved{i}": allocate(s.nbytes).view(s.dtype).reshape(s.shape)
            for i, s in enumerate(described[0].saved)
        }
        times = [
            milliseconds(bind(engine, *pair, saved))
            for pair in zip(asked, described, strict=True)
        ]
        inputs = described[0].layouts["bottom0"].name
        words = f"{inputs}; {described[0].implementation}"
        print(f"{layer.name:16} {' '.join(times)}  {words} {copies(*described)}")


def main() -> None:
    """Parse options and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=ENGINES, default="onednn")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--net", choices=NETS, action="append")
    options = parser.parse_args()
    engine = open_engine(options.engine, options.threads)
    for net in options.net or NETS:
        report(engine, net)


if __name__ == "__main__":
    main()
