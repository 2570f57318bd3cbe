"""The plain definition of each of `engines.functions`, as array-module code."""

from geeps_caffe.engines.reference.functions.dropout import Dropout
from geeps_caffe.engines.reference.functions.label_losses import LabelCosts
from geeps_caffe.engines.reference.functions.label_ranks import LabelRanks
from geeps_caffe.engines.reference.functions.logistic_losses import LogisticCosts
from geeps_caffe.engines.reference.functions.recurrent import Steps
from geeps_caffe.engines.reference.functions.rows import Rows
from geeps_caffe.engines.reference.functions.transform import Transform


class ArrayFunctions(
    LabelCosts, LogisticCosts, LabelRanks, Steps, Dropout, Rows, Transform
):
    """See `engines.functions.Functions`."""


__all__ = ["ArrayFunctions"]
