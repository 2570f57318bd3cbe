"""The cuda engine: cuBLAS for products, kernels of cuda_src/ for all else.

OPERATIONS is the table from an operation's class to its entry.
"""

from geeps_caffe.engines import operations
from geeps_caffe.engines.cuda import (
    activation,
    batch_norm,
    concat,
    convolution,
    crop,
    inner_product,
    lrn,
    lrn_within,
    pooling,
    scale,
    slicing,
    softmax,
    tile,
    weighted_sum,
)
from geeps_caffe.engines.cuda.kit import Entry

OPERATIONS: dict[type, Entry] = {
    operations.Convolution: convolution.ENTRY,
    operations.Deconvolution: convolution.ENTRY,
    operations.InnerProduct: inner_product.ENTRY,
    operations.MaxPooling: pooling.MAX_ENTRY,
    operations.AveragePooling: pooling.AVERAGE_ENTRY,
    operations.Activation: activation.ENTRY,
    operations.LRN: lrn.ENTRY,
    operations.LRNWithin: lrn_within.ENTRY,
    operations.Softmax: softmax.ENTRY,
    operations.Sum: weighted_sum.ENTRY,
    operations.Concat: concat.ENTRY,
    operations.Slice: slicing.ENTRY,
    operations.Crop: crop.ENTRY,
    operations.Tile: tile.ENTRY,
    operations.BatchNorm: batch_norm.ENTRY,
    operations.Scale: scale.ENTRY,
    operations.ScaleInPlace: scale.ENTRY,
}

__all__ = ["OPERATIONS", "Entry"]
