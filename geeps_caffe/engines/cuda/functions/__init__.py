"""What layers' own code asks of the cuda engine: each function as kernels."""

from geeps_caffe.engines.cuda.functions.dropout import Dropout
from geeps_caffe.engines.cuda.functions.label_losses import LabelCosts
from geeps_caffe.engines.cuda.functions.label_ranks import LabelRanks
from geeps_caffe.engines.cuda.functions.logistic_losses import LogisticCosts
from geeps_caffe.engines.cuda.functions.recurrent import Steps
from geeps_caffe.engines.cuda.functions.rows import Rows
from geeps_caffe.engines.cuda.functions.transform import Transform


class KernelFunctions(
    LabelCosts, LogisticCosts, LabelRanks, Steps, Dropout, Rows, Transform
):
    """See `engines.functions.Functions`; for float32."""


__all__ = ["KernelFunctions"]
