"""LAYERS: the table from a layer's type in a prototxt to its class."""

from geeps_caffe.layers.absval import AbsVal
from geeps_caffe.layers.accuracy import Accuracy
from geeps_caffe.layers.argmax import ArgMax
from geeps_caffe.layers.base import Layer
from geeps_caffe.layers.batch_norm import BatchNorm
from geeps_caffe.layers.batch_reindex import BatchReindex
from geeps_caffe.layers.bias import Bias
from geeps_caffe.layers.bnll import BNLL
from geeps_caffe.layers.clip import Clip
from geeps_caffe.layers.concat import Concat
from geeps_caffe.layers.contrastive_loss import ContrastiveLoss
from geeps_caffe.layers.convolution import Convolution
from geeps_caffe.layers.crop import Crop
from geeps_caffe.layers.data import Data
from geeps_caffe.layers.deconvolution import Deconvolution
from geeps_caffe.layers.dropout import Dropout
from geeps_caffe.layers.dummy_data import DummyData
from geeps_caffe.layers.eltwise import Eltwise
from geeps_caffe.layers.elu import ELU
from geeps_caffe.layers.embed import Embed
from geeps_caffe.layers.euclidean_loss import EuclideanLoss
from geeps_caffe.layers.exp import Exp
from geeps_caffe.layers.filter import Filter
from geeps_caffe.layers.flatten import Flatten
from geeps_caffe.layers.hdf5_data import HDF5Data
from geeps_caffe.layers.hdf5_output import HDF5Output
from geeps_caffe.layers.hinge_loss import HingeLoss
from geeps_caffe.layers.im2col import Im2col
from geeps_caffe.layers.image_data import ImageData
from geeps_caffe.layers.infogain_loss import InfogainLoss
from geeps_caffe.layers.inner_product import InnerProduct
from geeps_caffe.layers.input import Input
from geeps_caffe.layers.log import Log
from geeps_caffe.layers.lrn import LRN
from geeps_caffe.layers.lstm import LSTM
from geeps_caffe.layers.lstm_unit import LSTMUnit
from geeps_caffe.layers.memory_data import MemoryData
from geeps_caffe.layers.multinomial_logistic_loss import MultinomialLogisticLoss
from geeps_caffe.layers.mvn import MVN
from geeps_caffe.layers.parameter import Parameter
from geeps_caffe.layers.pooling import Pooling
from geeps_caffe.layers.power import Power
from geeps_caffe.layers.prelu import PReLU
from geeps_caffe.layers.python import Python
from geeps_caffe.layers.reduction import Reduction
from geeps_caffe.layers.relu import ReLU
from geeps_caffe.layers.reshape import Reshape
from geeps_caffe.layers.rnn import RNN
from geeps_caffe.layers.scale import Scale
from geeps_caffe.layers.sigmoid import Sigmoid
from geeps_caffe.layers.sigmoid_cross_entropy_loss import SigmoidCrossEntropyLoss
from geeps_caffe.layers.silence import Silence
from geeps_caffe.layers.slice import Slice
from geeps_caffe.layers.softmax import Softmax
from geeps_caffe.layers.softmax_with_loss import SoftmaxWithLoss
from geeps_caffe.layers.split import Split
from geeps_caffe.layers.spp import SPP
from geeps_caffe.layers.swish import Swish
from geeps_caffe.layers.tanh import TanH
from geeps_caffe.layers.threshold import Threshold
from geeps_caffe.layers.tile import Tile
from geeps_caffe.layers.window_data import WindowData

LAYERS: dict[str, type[Layer]] = {
    "AbsVal": AbsVal,
    "Accuracy": Accuracy,
    "ArgMax": ArgMax,
    "BNLL": BNLL,
    "BatchNorm": BatchNorm,
    "BatchReindex": BatchReindex,
    "Bias": Bias,
    "Clip": Clip,
    "Concat": Concat,
    "ContrastiveLoss": ContrastiveLoss,
    "Convolution": Convolution,
    "Crop": Crop,
    "Data": Data,
    "Deconvolution": Deconvolution,
    "Dropout": Dropout,
    "DummyData": DummyData,
    "ELU": ELU,
    "Eltwise": Eltwise,
    "Embed": Embed,
    "EuclideanLoss": EuclideanLoss,
    "Exp": Exp,
    "Filter": Filter,
    "Flatten": Flatten,
    "HDF5Data": HDF5Data,
    "HDF5Output": HDF5Output,
    "HingeLoss": HingeLoss,
    "Im2col": Im2col,
    "ImageData": ImageData,
    "InfogainLoss": InfogainLoss,
    "InnerProduct": InnerProduct,
    "Input": Input,
    "LRN": LRN,
    "LSTM": LSTM,
    "LSTMUnit": LSTMUnit,
    "Log": Log,
    "MVN": MVN,
    "MemoryData": MemoryData,
    "MultinomialLogisticLoss": MultinomialLogisticLoss,
    "PReLU": PReLU,
    "Parameter": Parameter,
    "Pooling": Pooling,
    "Power": Power,
    "Python": Python,
    "RNN": RNN,
    "ReLU": ReLU,
    "Reduction": Reduction,
    "Reshape": Reshape,
    "SPP": SPP,
    "Scale": Scale,
    "Sigmoid": Sigmoid,
    "SigmoidCrossEntropyLoss": SigmoidCrossEntropyLoss,
    "Silence": Silence,
    "Slice": Slice,
    "Softmax": Softmax,
    "SoftmaxWithLoss": SoftmaxWithLoss,
    "Split": Split,
    "Swish": Swish,
    "TanH": TanH,
    "Threshold": Threshold,
    "Tile": Tile,
    "WindowData": WindowData,
}
