"""The reference engine: the plain definition of every operation, in NumPy.

DEFINITIONS is the table from an operation's class to its definition. The functions
take an array module, so the same code is the fallback of every engine.
"""

from geeps_caffe.engines import operations
from geeps_caffe.engines.reference import (
    activated,
    activation,
    average_pooling,
    batch_norm,
    concat,
    convolution,
    crop,
    deconvolution,
    inner_product,
    lrn,
    lrn_within,
    max_pooling,
    scale,
    scaled_batch_norm,
    slicing,
    softmax,
    tile,
    weighted_sum,
)
from geeps_caffe.engines.reference.definition import Definition

DEFINITIONS: dict[type, Definition] = {
    operations.Convolution: convolution.DEFINITION,
    operations.Deconvolution: deconvolution.DEFINITION,
    operations.InnerProduct: inner_product.DEFINITION,
    operations.MaxPooling: max_pooling.DEFINITION,
    operations.AveragePooling: average_pooling.DEFINITION,
    operations.Activation: activation.DEFINITION,
    operations.LRN: lrn.DEFINITION,
    operations.LRNWithin: lrn_within.DEFINITION,
    operations.Softmax: softmax.DEFINITION,
    operations.Sum: weighted_sum.DEFINITION,
    operations.Concat: concat.DEFINITION,
    operations.Slice: slicing.DEFINITION,
    operations.Crop: crop.DEFINITION,
    operations.Tile: tile.DEFINITION,
    operations.BatchNorm: batch_norm.DEFINITION,
    operations.Scale: scale.DEFINITION,
    operations.ScaleInPlace: scale.IN_PLACE,
    operations.ScaledBatchNorm: scaled_batch_norm.DEFINITION,
}
DEFINITIONS[operations.Activated] = activated.definition(DEFINITIONS)

__all__ = ["DEFINITIONS", "Definition"]
