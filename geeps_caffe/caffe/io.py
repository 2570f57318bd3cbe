"""pycaffe's `caffe.io`: images, what is done to them, and messages as arrays."""

from geeps_caffe.caffe.images import load_image, oversample, resize_image
from geeps_caffe.caffe.messages import (
    array_to_blobproto,
    array_to_datum,
    arraylist_to_blobprotovector_str,
    blobproto_to_array,
    blobprotovector_str_to_arraylist,
    datum_to_array,
)
from geeps_caffe.caffe.proto import caffe_pb2
from geeps_caffe.caffe.transformer import Transformer

__all__ = [
    "Transformer",
    "array_to_blobproto",
    "array_to_datum",
    "arraylist_to_blobprotovector_str",
    "blobproto_to_array",
    "blobprotovector_str_to_arraylist",
    "caffe_pb2",
    "datum_to_array",
    "load_image",
    "oversample",
    "resize_image",
]
