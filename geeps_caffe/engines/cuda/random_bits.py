"""Random numbers on the device: the same bits as `philox.Stream` draws on the host."""

import numpy as np

from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.philox import Stream

WORD = 0xFFFFFFFF


def draw_bits(device: CudaDevice, stream: Stream, shape: Shape) -> Array:
    """uint32 of `shape`; see `Stream.bits`."""
    batch = shape[0] if shape else 1
    each = count(shape[1:])
    words: Array = device.cupy.empty(shape, np.uint32)
    if not words.size:
        return words
    records = np.resize(stream.records.astype(np.int64), batch)
    place = (device.cupy.asarray(records), each)
    counter = (stream.layer & WORD, stream.iteration & WORD)
    key = (stream.seed & WORD, stream.seed >> 32 & WORD)
    blocks = batch * -(-each // 4)
    args = (words, *place, *counter, *key)
    device.kernels.bind("random_bits.cu", "random_bits", blocks, *args)()
    return words
