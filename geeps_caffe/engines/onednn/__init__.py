"""The oneDNN engine: every operation on CPUs, through the library's C interface.

OPERATIONS is the table from an operation's class to what makes its recipes.
"""

from geeps_caffe.engines import operations
from geeps_caffe.engines.onednn.activated import make_activated
from geeps_caffe.engines.onednn.activation import make_activation
from geeps_caffe.engines.onednn.average_pooling import make_average_pooling
from geeps_caffe.engines.onednn.batch_norm import make_batch_norm
from geeps_caffe.engines.onednn.concat import make_concat
from geeps_caffe.engines.onednn.convolution import make_convolution
from geeps_caffe.engines.onednn.deconvolution import make_deconvolution
from geeps_caffe.engines.onednn.inner_product import make_inner_product
from geeps_caffe.engines.onednn.lrn import make_lrn
from geeps_caffe.engines.onednn.lrn_within import make_lrn_within
from geeps_caffe.engines.onednn.max_pooling import make_max_pooling
from geeps_caffe.engines.onednn.recipe import Maker
from geeps_caffe.engines.onednn.scaled_batch_norm import (
    make_scale,
    make_scaled_batch_norm,
)
from geeps_caffe.engines.onednn.softmax import make_softmax
from geeps_caffe.engines.onednn.sum import make_sum

OPERATIONS: dict[type, Maker] = {
    operations.Convolution: make_convolution,
    operations.Deconvolution: make_deconvolution,
    operations.InnerProduct: make_inner_product,
    operations.MaxPooling: make_max_pooling,
    operations.AveragePooling: make_average_pooling,
    operations.Activation: make_activation,
    operations.LRN: make_lrn,
    operations.LRNWithin: make_lrn_within,
    operations.Softmax: make_softmax,
    operations.Sum: make_sum,
    operations.Concat: make_concat,
    operations.BatchNorm: make_batch_norm,
    operations.Scale: make_scale,
    operations.ScaleInPlace: make_scale,
    operations.ScaledBatchNorm: make_scaled_batch_norm,
    operations.Activated: make_activated,
}

__all__ = ["OPERATIONS"]
