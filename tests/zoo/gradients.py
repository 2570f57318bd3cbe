"""Whole nets' gradients against central differences, in float64.

Only the layers from the changed parameter on are run again. Where the loss has a
kink between the two points of a difference (a maximum or a ReLU changes sides), the
difference says nothing; there the middle is not between the ends:

    |f(+h) - 2 f(0) + f(-h)| / 2h    is how much one kink moves the difference

so a parameter counts only where this is small beside the gradient, and enough
parameters have to count.
"""

from dataclasses import dataclass

import numpy as np

STEP = 1e-6
RTOL = 1e-5


@dataclass(frozen=True)
class Probe:
    """One parameter: what backward says, what a difference says, and the kink."""

    layer: str
    blob: int
    place: int
    gradient: float
    slope: float
    kink: float

    @property
    def smooth(self):
        return self.kink <= 0.2 * RTOL * abs(self.gradient)

    @property
    def error(self):
        return abs(self.slope - self.gradient) / abs(self.gradient)


def fill(net, rng):
    """Values at which signals neither fade nor explode, whatever the fillers are."""
    for view in net.layers:
        shapes = [blob.shape for blob in view.blobs]
        for i, (blob, shape) in enumerate(zip(view.blobs, shapes, strict=True)):
            blob.data[...] = _values(view.type, i, shape, rng)


def _values(kind, index, shape, rng):
    if kind == "BatchNorm":
        return np.zeros(shape) if index == 0 else np.ones(shape)
    if kind == "Scale" and index == 0:
        return rng.uniform(0.5, 1.5, shape)
    if index == 0 or len(shape) > 1:
        fan_in = np.prod(shape[1:])
        return rng.normal(size=shape) * np.sqrt(2 / fan_in)
    return rng.uniform(-0.1, 0.1, shape)


def mark_clips(net):
    """Start every clip of a recurrent net with an empty state."""
    for node in net._net.graph.nodes:
        if node.type == "LSTM":
            net.forward()  # constants are filled once, and then stay as written
            frames, videos = net._net.graph.values[node.bottoms[1]].shape
            markers = np.ones((frames, videos))
            markers[0] = 0
            net.blobs["clip_markers"].data[...] = markers.reshape(-1)


def probe(net, rng, wanted=20, most=60):
    """Try parameters spread over all layers until `wanted` of them count."""
    mark_clips(net)
    net.clear_param_diffs()
    net.forward()
    base = net._net.loss()
    net.backward()
    blobs = _learned(net)
    gradients = {key: net.params[key[0]][key[1]].diff.copy() for key in blobs}
    found = []
    for i in range(most):
        key = blobs[_spread(i, wanted, len(blobs))]
        place = _place(gradients[key].reshape(-1), rng)
        if place is not None:
            found.append(_probe(net, key, place, gradients[key], base))
        if sum(p.smooth for p in found) >= wanted:
            break
    return found


def _spread(i, wanted, count):
    """The i-th of `wanted` places spread over `count`; later rounds lie between."""
    turn, at = divmod(i, wanted)
    return int((at + (0.0, 0.5, 0.25)[turn % 3]) * count / wanted) % count


def _learned(net):
    graph = net._net.graph
    return [
        (node.name, i)
        for node in graph.nodes
        for i, learns in enumerate(node.learns)
        if learns
    ]


def _place(gradient, rng):
    """An element by chance, of those that the loss depends on visibly."""
    largest = np.abs(gradient).max()
    places = np.flatnonzero(np.abs(gradient) >= max(0.1 * largest, 1e-4))
    return int(rng.choice(places)) if places.size else None


def _probe(net, key, place, gradient, base):
    layer, index = key
    flat = net.params[layer][index].data.reshape(-1)
    value, start = flat[place], _first_layer(net, layer)
    sums = []
    for moved in (value + STEP, value - STEP):
        flat[place] = moved
        net.forward(start=start)
        sums.append(net._net.loss())
    flat[place] = value
    net.forward(start=start)
    return Probe(
        layer,
        index,
        place,
        float(gradient.reshape(-1)[place]),
        (sums[0] - sums[1]) / (2 * STEP),
        abs(sums[0] - 2 * base + sums[1]) / (2 * STEP),
    )


def _first_layer(net, name):
    """The layer itself, or the one whose top it and its fellows change in place."""
    graph = net._net.graph
    node = net._net.node(name)
    while node.in_place:
        node = graph.nodes[graph.values[node.bottoms[0]].source]
    return node.name
