"""LAYERS: the table from a layer's type in a prototxt to its class."""

from geeps_caffe.layers.base import Layer
from geeps_caffe.layers.batch_norm import BatchNorm
from geeps_caffe.layers.concat import Concat
from geeps_caffe.layers.convolution import Convolution
from geeps_caffe.layers.crop import Crop
from geeps_caffe.layers.data import Data
from geeps_caffe.layers.deconvolution import Deconvolution
from geeps_caffe.layers.eltwise import Eltwise
from geeps_caffe.layers.elu import ELU
from geeps_caffe.layers.embed import Embed
from geeps_caffe.layers.hdf5_data import HDF5Data
from geeps_caffe.layers.im2col import Im2col
from geeps_caffe.layers.image_data import ImageData
from geeps_caffe.layers.inner_product import InnerProduct
from geeps_caffe.layers.lrn import LRN
from geeps_caffe.layers.pooling import Pooling
from geeps_caffe.layers.relu import ReLU
from geeps_caffe.layers.sigmoid import Sigmoid
from geeps_caffe.layers.slice import Slice
from geeps_caffe.layers.softmax import Softmax
from geeps_caffe.layers.spp import SPP
from geeps_caffe.layers.tanh import TanH
from geeps_caffe.layers.tile import Tile
from geeps_caffe.layers.window_data import WindowData

LAYERS: dict[str, type[Layer]] = {
    "BatchNorm": BatchNorm,
    "Concat": Concat,
    "Convolution": Convolution,
    "Crop": Crop,
    "Data": Data,
    "Deconvolution": Deconvolution,
    "ELU": ELU,
    "Eltwise": Eltwise,
    "Embed": Embed,
    "HDF5Data": HDF5Data,
    "Im2col": Im2col,
    "ImageData": ImageData,
    "InnerProduct": InnerProduct,
    "LRN": LRN,
    "Pooling": Pooling,
    "ReLU": ReLU,
    "SPP": SPP,
    "Sigmoid": Sigmoid,
    "Slice": Slice,
    "Softmax": Softmax,
    "TanH": TanH,
    "Tile": Tile,
    "WindowData": WindowData,
}

__all__ = ["LAYERS", "Layer"]
