"""The measured nets by their papers' numbers, for machines without prototxts of others.

Layers, shapes and strides are those of Caffe's models of these names; fillers are not,
since weights do not change what a step costs. Each text begins behind `data` and
`label`, whose layer `benchmarks.models` puts before it.
"""

from collections.abc import Callable, Mapping, Sequence

#: Inception modules: 1x1; 3x3 reduced to, 3x3; 5x5 reduced to, 5x5; after pooling.
INCEPTIONS: Mapping[str, tuple[int, int, int, int, int, int]] = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
#: Stages of ResNet-50: blocks, and channels within a block.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))


class Text:
    """Layers one after the other; each method returns the blob that it wrote."""

    def __init__(self) -> None:
        self.layers: list[str] = []

    def add(
        self,
        kind: str,
        name: str,
        bottoms: Sequence[str],
        words: str = "",
        top: str = "",
    ) -> str:
        """A layer; its top has its name if no other is given."""
        blobs = " ".join(f'bottom: "{bottom}"' for bottom in bottoms)
        self.layers.append(
            f'layer {{ name: "{name}" type: "{kind}" {blobs} top: "{top or name}" '
            f"{words} }}"
        )
        return top or name

    def conv(self, name: str, bottom: str, size: str, *, relu: bool = True) -> str:
        """A convolution by words of its param, with a ReLU in place."""
        words = f'convolution_param {{ weight_filler {{ type: "xavier" }} {size} }}'
        self.add("Convolution", name, [bottom], words)
        return self.relu(name) if relu else name

    def relu(self, blob: str) -> str:
        """In place."""
        return self.add("ReLU", f"relu_{blob}", [blob], top=blob)

    def pool(self, name: str, bottom: str, kind: str, size: str) -> str:
        """Pooling."""
        return self.add(
            "Pooling", name, [bottom], f"pooling_param {{ pool: {kind} {size} }}"
        )

    def lrn(self, name: str, bottom: str) -> str:
        """Over five channels."""
        words = "lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 }"
        return self.add("LRN", name, [bottom], words)

    def inner(self, name: str, bottom: str, outputs: int, drop: float = 0) -> str:
        """An inner product; where some is dropped, a ReLU before that."""
        filler = 'weight_filler { type: "xavier" }'
        words = f"inner_product_param {{ num_output: {outputs} {filler} }}"
        self.add("InnerProduct", name, [bottom], words)
        if drop:
            self.relu(name)
            self.dropout(name, drop)
        return name

    def dropout(self, blob: str, ratio: float) -> str:
        """In place."""
        words = f"dropout_param {{ dropout_ratio: {ratio} }}"
        return self.add("Dropout", f"drop_{blob}", [blob], words, top=blob)

    def loss(self, name: str, bottom: str, weight: float = 1) -> str:
        """Softmax, and the logarithm at the label."""
        words = f"loss_weight: {weight}"
        return self.add("SoftmaxWithLoss", name, [bottom, "label"], words)


def alexnet(text: Text) -> None:
    """Five convolutions, two of them in two groups of channels, three products."""
    blob = text.conv("conv1", "data", "num_output: 96 kernel_size: 11 stride: 4")
    blob = text.pool(
        "pool1", text.lrn("norm1", blob), "MAX", "kernel_size: 3 stride: 2"
    )
    blob = text.conv("conv2", blob, "num_output: 256 kernel_size: 5 pad: 2 group: 2")
    blob = text.pool(
        "pool2", text.lrn("norm2", blob), "MAX", "kernel_size: 3 stride: 2"
    )
    blob = text.conv("conv3", blob, "num_output: 384 kernel_size: 3 pad: 1")
    blob = text.conv("conv4", blob, "num_output: 384 kernel_size: 3 pad: 1 group: 2")
    blob = text.conv("conv5", blob, "num_output: 256 kernel_size: 3 pad: 1 group: 2")
    blob = text.pool("pool5", blob, "MAX", "kernel_size: 3 stride: 2")
    blob = text.inner("fc7", text.inner("fc6", blob, 4096, 0.5), 4096, 0.5)
    text.loss("loss", text.inner("fc8", blob, 1000))


def vgg16(text: Text) -> None:
    """Thirteen convolutions of 3x3, three products."""
    blob = "data"
    for stage, (depth, outputs) in enumerate(
        ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1
    ):
        for i in range(1, depth + 1):
            size = f"num_output: {outputs} kernel_size: 3 pad: 1"
            blob = text.conv(f"conv{stage}_{i}", blob, size)
        blob = text.pool(f"pool{stage}", blob, "MAX", "kernel_size: 2 stride: 2")
    blob = text.inner("fc7", text.inner("fc6", blob, 4096, 0.5), 4096, 0.5)
    text.loss("loss", text.inner("fc8", blob, 1000))


def googlenet(text: Text) -> None:
    """Nine inception modules, and two more losses on the way."""
    third = "kernel_size: 3 stride: 2"
    blob = text.conv("conv1", "data", "num_output: 64 kernel_size: 7 stride: 2 pad: 3")
    blob = text.lrn("norm1", text.pool("pool1", blob, "MAX", third))
    blob = text.conv("conv2_reduce", blob, "num_output: 64 kernel_size: 1")
    blob = text.conv("conv2", blob, "num_output: 192 kernel_size: 3 pad: 1")
    blob = text.pool("pool2", text.lrn("norm2", blob), "MAX", third)
    for name, sizes in INCEPTIONS.items():
        if name in ("4a", "5a"):
            blob = text.pool(f"pool_{name}", blob, "MAX", third)
        if name in ("4b", "4e"):
            _side(text, f"loss_{name}", blob)
        blob = _inception(text, name, blob, sizes)
    blob = text.pool("pool5", blob, "AVE", "kernel_size: 7 stride: 1")
    text.loss("loss", text.inner("classifier", text.dropout(blob, 0.4), 1000))


def _inception(text: Text, name: str, bottom: str, sizes: Sequence[int]) -> str:
    one, reduce3, three, reduce5, five, after = sizes
    pointwise = "num_output: {} kernel_size: 1"
    blobs = [text.conv(f"{name}_1x1", bottom, pointwise.format(one))]
    blob = text.conv(f"{name}_3x3_reduce", bottom, pointwise.format(reduce3))
    size = f"num_output: {three} kernel_size: 3 pad: 1"
    blobs.append(text.conv(f"{name}_3x3", blob, size))
    blob = text.conv(f"{name}_5x5_reduce", bottom, pointwise.format(reduce5))
    size = f"num_output: {five} kernel_size: 5 pad: 2"
    blobs.append(text.conv(f"{name}_5x5", blob, size))
    blob = text.pool(f"{name}_pool", bottom, "MAX", "kernel_size: 3 stride: 1 pad: 1")
    blobs.append(text.conv(f"{name}_pool_proj", blob, pointwise.format(after)))
    return text.add("Concat", f"{name}_output", blobs)


def _side(text: Text, name: str, bottom: str) -> None:
    """A loss on the way, for 0.3 of its worth."""
    blob = text.pool(f"{name}_pool", bottom, "AVE", "kernel_size: 5 stride: 3")
    blob = text.conv(f"{name}_conv", blob, "num_output: 128 kernel_size: 1")
    blob = text.inner(f"{name}_fc", blob, 1024, 0.7)
    text.loss(name, text.inner(f"{name}_classifier", blob, 1000), 0.3)


def resnet50(text: Text) -> None:
    """Sixteen blocks of three convolutions, each normalized, around which values go."""
    blob = text.conv(
        "conv1", "data", "num_output: 64 kernel_size: 7 stride: 2 pad: 3", relu=False
    )
    blob = text.relu(_normalized(text, blob))
    blob = text.pool("pool1", blob, "MAX", "kernel_size: 3 stride: 2")
    for stage, (blocks, channels) in enumerate(STAGES, 2):
        for i in range(blocks):
            stride = 2 if i == 0 and stage > 2 else 1
            name = f"res{stage}{'abcdef'[i]}"
            blob = _block(text, name, blob, channels, stride, first=i == 0)
    blob = text.pool("pool5", blob, "AVE", "kernel_size: 7 stride: 1")
    text.loss("loss", text.inner("fc1000", blob, 1000))


def _block(
    text: Text, name: str, bottom: str, channels: int, stride: int, *, first: bool
) -> str:
    plain = "bias_term: false kernel_size: 1"
    around = bottom
    if first:
        size = f"{plain} num_output: {4 * channels} stride: {stride}"
        around = text.conv(f"{name}_branch1", bottom, size, relu=False)
        _normalized(text, around)
    size = f"{plain} num_output: {channels} stride: {stride}"
    blob = text.conv(f"{name}_branch2a", bottom, size, relu=False)
    text.relu(_normalized(text, blob))
    size = f"bias_term: false num_output: {channels} kernel_size: 3 pad: 1"
    blob = text.conv(f"{name}_branch2b", blob, size, relu=False)
    text.relu(_normalized(text, blob))
    size = f"{plain} num_output: {4 * channels}"
    blob = text.conv(f"{name}_branch2c", blob, size, relu=False)
    _normalized(text, blob)
    return text.relu(text.add("Eltwise", name, [around, blob]))


def _normalized(text: Text, blob: str) -> str:
    """BatchNorm and Scale, in place."""
    text.add("BatchNorm", f"bn_{blob}", [blob], top=blob)
    return text.add(
        "Scale", f"scale_{blob}", [blob], "scale_param { bias_term: true }", top=blob
    )


NETS: Mapping[str, Callable[[Text], None]] = {
    "alexnet": alexnet,
    "googlenet": googlenet,
    "resnet50": resnet50,
    "vgg16": vgg16,
}


def net_text(name: str) -> str:
    """The prototxt of a net."""
    text = Text()
    NETS[name](text)
    return "\n".join((f'name: "{name}"', *text.layers))
