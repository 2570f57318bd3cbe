"""Random small nets: diamonds, layers in place, shared params, several losses."""

import random

from hypothesis import strategies as st

SHAPE = (2, 3, 4, 4)  # all blobs but losses keep its batch and image size
#: Layers whose backward does not read their top.
SAFE = ("Convolution", "Eltwise", "Concat", "Scale")
ACTIVATIONS = ("ReLU", "Sigmoid", "TanH", "ELU", "BNLL", "AbsVal")


@st.composite
def seeds(draw, most=12):
    """What makes a net of up to `most` layers before its losses."""
    return draw(st.integers(0, 10**9)), draw(st.integers(1, most))


def random_net(seed, in_place="any", weights=True):
    """A net's text; its input is "data".

    `in_place`: "any" (layers in place after any layer), "safe" (only where Caffe's
    own memory keeps what backward reads) or "none" (the same net, with other tops).
    `weights`: whether losses may be weights on blobs that others read, too; else the
    same net has loss layers for them.
    """
    number, count = seed
    net = _Net(random.Random(number), in_place, weights)
    for _ in range(count):
        net.chance.choice(net.kinds)()
    net.losses()
    return "\n".join(net.layers + net.extra)


class _Net:
    def __init__(self, chance, in_place, weights):
        self.chance, self.in_place, self.weights = chance, in_place, weights
        self.extra = []
        self.present = {}  # blob -> its present name, where it is not its own
        dims = " ".join(f"dim: {d}" for d in SHAPE)
        self.layers = [
            f'layer {{ name: "in" type: "Input" top: "data" '
            f"input_param {{ shape {{ {dims} }} }} }}"
        ]
        self.channels = {"data": SHAPE[1]}
        self.fresh = None  # a blob that nobody has read yet, made just now
        self.kinds = (
            *(self.conv,) * 3,
            *(self.activation,) * 3,
            *(self.eltwise,) * 2,
            self.concat,
            self.slice,
            self.pooling,
            self.power,
            self.scale,
            self.batch_norm,
            self.lrn,
            self.flat,
        )

    def losses(self):
        """One to three of them, and at times a weight on a blob that is read, too."""
        for name in self.chance.sample(
            list(self.channels), min(len(self.channels), self.chance.randint(0, 2))
        ):
            self._add("Reduction", [name], 0, "loss_weight: 0.7", self._how())
        self._add(
            "Reduction", [list(self.channels)[-1]], 0, "loss_weight: 1", self._how()
        )

    def _how(self):
        return "reduction_param { operation: SUMSQ coeff: 0.5 }"

    def _pick(self):
        names = list(self.channels)
        return names[-1] if self.chance.random() < 0.6 else self.chance.choice(names)

    def _add(self, kind, bottoms, channels, *words, tops=1):
        index = len(self.layers)
        names = [f"{kind.lower()}{index}" + "abc"[i] * (tops > 1) for i in range(tops)]
        links = [f'bottom: "{self.present.get(b, b)}"' for b in bottoms]
        links += [f'top: "{t}"' for t in names]
        head = f'name: "layer{index}" type: "{kind}"'
        self.layers.append(f"layer {{ {' '.join([head, *links, *words])} }}")
        if channels:
            for name in names:
                self.channels[name] = channels
        safe = kind in SAFE or self.in_place != "safe"
        self.fresh = names[0] if tops == 1 and channels and safe else None

    def conv(self):
        bottom, outputs = self._pick(), self.chance.randint(1, 3)
        words = [f"convolution_param {{ num_output: {outputs} kernel_size: 3 pad: 1 }}"]
        if self.chance.random() < 0.3:  # all convolutions between these counts share
            shared = f"{self.channels[bottom]}to{outputs}"
            words += [f'param {{ name: "w{shared}" }} param {{ name: "b{shared}" }}']
        elif self.chance.random() < 0.2:
            words += ["param { lr_mult: 0 }"]
        weighted = self.chance.random() < 0.15
        if weighted and self.weights:
            words += ["loss_weight: 0.25"]
        self._add("Convolution", [bottom], outputs, *words)
        if weighted:
            self._weigh(self.fresh)

    def _weigh(self, blob):
        self.fresh = None  # its weight is on what it is now
        if not self.weights:
            self.extra.append(
                f'layer {{ name: "{blob}.loss" type: "Reduction" bottom: "{blob}" '
                f'top: "{blob}.loss" loss_weight: 0.25 }}'
            )

    def activation(self):
        kind = self.chance.choice(ACTIVATIONS)
        if self.fresh and self.chance.random() < 0.6:
            self._write_over(kind, self.fresh)
            return
        bottom = self._pick()
        self._add(kind, [bottom], self.channels[bottom])

    def _write_over(self, kind, blob):
        index, bottom = len(self.layers), self.present.get(blob, blob)
        top = f"{blob}.{index}" if self.in_place == "none" else blob
        self.present[blob] = top
        self.layers.append(
            f'layer {{ name: "layer{index}" type: "{kind}" bottom: "{bottom}" '
            f'top: "{top}" }}'
        )
        if self.in_place == "safe":
            self.fresh = None

    def eltwise(self):
        first = self._pick()
        same = [n for n, c in self.channels.items() if c == self.channels[first]]
        operation = self.chance.choice(["SUM", "PROD", "MAX"])
        self._add(
            "Eltwise",
            [first, self.chance.choice(same)],
            self.channels[first],
            f"eltwise_param {{ operation: {operation} }}",
        )

    def concat(self):
        bottoms = [self._pick(), self._pick()]
        channels = sum(self.channels[b] for b in bottoms)
        if channels <= 8:
            self._add("Concat", bottoms, channels)

    def slice(self):
        bottom = self._pick()
        if self.channels[bottom] % 2 == 0:
            self._add("Slice", [bottom], self.channels[bottom] // 2, tops=2)

    def pooling(self):
        kind = self.chance.choice(["MAX", "AVE"])
        bottom = self._pick()
        words = f"pooling_param {{ pool: {kind} kernel_size: 3 stride: 1 pad: 1 }}"
        self._add("Pooling", [bottom], self.channels[bottom], words)

    def power(self):
        bottom = self._pick()
        words = "power_param { power: 2 scale: 0.5 shift: 0.1 }"
        self._add("Power", [bottom], self.channels[bottom], words)

    def scale(self):
        bottom = self._pick()
        words = "scale_param { bias_term: true }"
        self._add("Scale", [bottom], self.channels[bottom], words)

    def batch_norm(self):
        bottom = self._pick()
        self._add("BatchNorm", [bottom], self.channels[bottom])

    def lrn(self):
        bottom = self._pick()
        self._add("LRN", [bottom], self.channels[bottom], "lrn_param { local_size: 3 }")

    def flat(self):
        """There and back through views."""
        bottom = self._pick()
        self._add("Flatten", [bottom], self.channels[bottom])
        flat = list(self.channels)[-1]
        dims = f"dim: 0 dim: {self.channels[bottom]} dim: 4 dim: 4"
        words = f"reshape_param {{ shape {{ {dims} }} }}"
        del self.channels[flat]
        self._add("Reshape", [flat], self.channels[bottom], words)
