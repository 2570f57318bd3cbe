"""The nets behind the recorded solver runs, as plain NumPy in double precision."""

import re

import h5py
import numpy as np

BATCH = 10


class Records:
    """Batches of the recorded data, in file order, round and round."""

    def __init__(self, folder):
        with h5py.File(folder / "train.h5") as file:
            self.data, self.label = file["data"][...], file["label"][...].astype(int)
        self.next = 0

    def batch(self):
        rows = (self.next + np.arange(BATCH)) % len(self.label)
        self.next += BATCH
        return self.data[rows].astype(np.float64), self.label[rows]


def forward_backward(params, x, label):
    """Loss and gradients of conv 3x3, ReLU, max pool 2x2, inner product, softmax."""
    kernel, bias, weights, ip_bias = params
    windows = np.lib.stride_tricks.sliding_window_view(x[:, 0], (3, 3), axis=(1, 2))
    conv = np.einsum("nhwij,oij->nohw", windows, kernel[:, 0]) + bias[:, None, None]
    relu = np.maximum(conv, 0)
    n, o, h, w = relu.shape
    tiles = relu.reshape(n, o, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5)
    tiles = tiles.reshape(n, -1, 4)
    best = tiles.argmax(axis=2)
    pool = np.take_along_axis(tiles, best[..., None], 2)[..., 0]
    score = pool @ weights.T + ip_bias
    prob = np.exp(score - score.max(axis=1, keepdims=True))
    prob /= prob.sum(axis=1, keepdims=True)
    loss = -np.log(prob[np.arange(n), label]).mean()
    d_score = (prob - np.eye(3)[label]) / n
    d_tiles = np.zeros_like(tiles)
    np.put_along_axis(d_tiles, best[..., None], (d_score @ weights)[..., None], 2)
    d_relu = d_tiles.reshape(n, o, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5)
    d_conv = d_relu.reshape(n, o, h, w) * (conv > 0)
    d_kernel = np.einsum("nohw,nhwij->oij", d_conv, windows)[:, None]
    return loss, [d_kernel, d_conv.sum((0, 2, 3)), d_score.T @ pool, d_score.sum(0)]


def multipliers(net_prototxt):
    """(lr_mult, decay_mult) of the four blobs, as written in the net."""
    found = re.findall(
        r"param \{ lr_mult: (\S+)(?: decay_mult: (\S+))? \}", net_prototxt
    )
    return [(float(a), float(b or 1)) for a, b in found] or [(1.0, 1.0)] * 4
