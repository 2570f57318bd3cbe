"""Folders laid out as Caffe's, with databases by our tools from real digits and images.

Each function gets the root (`examples/...` lies in it), the corpus, and how many
records to take (None: all).
"""

import gzip
import lzma
import shutil
from pathlib import Path

import h5py
import numpy as np

from geeps_caffe.commands import (
    compute_image_mean,
    convert_cifar_data,
    convert_mnist_siamese_data,
)
from geeps_caffe.commands.convert_mnist_data import write_digits
from geeps_caffe.data.idx import read_digits

ZOO = Path("zoo") / "BVLC__caffe" / "examples"
_RECORD = 1 + 3 * 32 * 32  # bytes of CIFAR's binary files


def copy_examples(root, corpus, *names):
    """Caffe's files of these examples, unchanged."""
    for name in names:
        shutil.copytree(corpus / ZOO / name, root / "examples" / name)


def mnist(root, corpus, records=None):
    """examples/mnist with mnist_train_lmdb and mnist_test_lmdb."""
    copy_examples(root, corpus, "mnist")
    for part, name in (("train", "train"), ("t10k", "test")):
        images, labels = digits(corpus, part, records)
        place = root / "examples" / "mnist" / f"mnist_{name}_lmdb"
        write_digits(images, labels, str(place), "lmdb")


def digits(corpus, part, records=None):
    """Images and labels of one part of MNIST."""
    folder = corpus / "data" / "mnist"
    images, labels = read_digits(
        str(folder / f"{part}-images-idx3-ubyte.gz"),
        str(folder / f"{part}-labels-idx1-ubyte.gz"),
    )
    return images[:records], labels[:records]


def siamese(root, corpus, records=None):
    """examples/siamese with its LevelDBs."""
    copy_examples(root, corpus, "siamese")
    folder = corpus / "data" / "mnist"
    for part, name in (("train", "train"), ("t10k", "test")):
        files = [
            str(_first(folder / f"{part}-{kind}-ubyte.gz", root, item, records))
            for kind, item in (("images-idx3", 784), ("labels-idx1", 1))
        ]
        place = root / "examples" / "siamese" / f"mnist_siamese_{name}_leveldb"
        assert convert_mnist_siamese_data.main([*files, str(place)]) == 0


def _first(path, root, item, records):
    """An IDX file with the first records only, of `item` bytes each."""
    if records is None:
        return path
    content = gzip.decompress(path.read_bytes())
    head = len(content) - int.from_bytes(content[4:8], "big") * item
    count = records.to_bytes(4, "big")
    target = root / path.stem
    target.write_bytes(content[:4] + count + content[8 : head + records * item])
    return target


def cifar10(root, corpus, records=None):
    """examples/cifar10 with both LMDBs and mean.binaryproto; `records` of each file."""
    copy_examples(root, corpus, "cifar10")
    source = corpus / "data" / "cifar10" / "cifar-10-batches-bin"
    if records is not None:
        source = _shortened(source, root / "data", records)
    place = root / "examples" / "cifar10"
    assert convert_cifar_data.main([str(source), str(place), "lmdb"]) == 0
    train = str(place / "cifar10_train_lmdb")
    assert compute_image_mean.main([train, str(place / "mean.binaryproto")]) == 0


def _shortened(source, target, records):
    target.mkdir()
    for path in source.glob("*.bin.xz"):
        with lzma.open(path) as file:
            (target / path.stem).write_bytes(file.read(records * _RECORD))
    return target


def hdf5_classification(root, corpus, records=10000):
    """examples/hdf5_classification with its data: four numbers, two classes."""
    copy_examples(root, corpus, "hdf5_classification")
    rng = np.random.default_rng(3)
    folder = root / "examples" / "hdf5_classification" / "data"
    folder.mkdir()
    for name, count in (("train", records * 3 // 4), ("test", records // 4)):
        data = rng.standard_normal((count, 4)).astype(np.float32)
        score = data @ np.array([1.5, -2, 1, 0.5], np.float32) + 0.3
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["data"], file["label"] = data, (score > 0).astype(np.float32)
        (folder / f"{name}.txt").write_text(
            f"examples/hdf5_classification/data/{name}.h5\n"
        )


PYLOSS = '''
"""The loss layer that examples/pycaffe/linreg.prototxt names."""
import caffe
import numpy as np


class EuclideanLossLayer(caffe.Layer):
    def setup(self, bottom, top):
        if len(bottom) != 2:
            raise Exception("two bottoms, please")

    def reshape(self, bottom, top):
        self.diff = np.zeros_like(bottom[0].data, dtype=np.float32)
        top[0].reshape(1)

    def forward(self, bottom, top):
        self.diff[...] = bottom[0].data - bottom[1].data
        top[0].data[...] = np.sum(self.diff**2) / bottom[0].num / 2.0

    def backward(self, top, propagate_down, bottom):
        for i, sign in ((0, 1), (1, -1)):
            if propagate_down[i]:
                bottom[i].diff[...] = sign * self.diff / bottom[i].num
'''


def linreg(root, corpus):
    """examples/pycaffe with linreg.prototxt, its loss layer and a solver."""
    place = root / "examples" / "pycaffe"
    place.mkdir(parents=True)
    shutil.copy(corpus / ZOO / "pycaffe" / "linreg.prototxt", place)
    (place / "layers").mkdir()
    (place / "layers" / "pyloss.py").write_text(PYLOSS)
    (place / "linreg_solver.prototxt").write_text(
        'net: "examples/pycaffe/linreg.prototxt" base_lr: 0.02 lr_policy: "fixed"\n'
        'momentum: 0.9 max_iter: 1000 snapshot_prefix: "examples/pycaffe/linreg"\n'
    )


HDF5_SOLVER = """
net: "examples/hdf5_classification/{net}.prototxt"
test_iter: 250 test_interval: 1000 base_lr: 0.01 lr_policy: "step" gamma: 0.1
stepsize: 5000 display: 1000 max_iter: 10000 momentum: 0.9 weight_decay: 0.0005
snapshot: 10000 snapshot_prefix: "examples/hdf5_classification/{net}"
"""


def write_hdf5_solver(root, net):
    """A solver for one of the nets of hdf5_classification; returns its path."""
    path = f"examples/hdf5_classification/{net}_solver.prototxt"
    (root / path).write_text(HDF5_SOLVER.format(net=net))
    return path


_AUTO_DATA = """
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { scale: 0.00392156862745 }
  data_param { source: "mnist/mnist_%s_lmdb" batch_size: %d backend: LMDB } }
"""
_AUTO_REST = """
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 50 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "fc1" type: "InnerProduct" bottom: "pool2" top: "fc1"
  inner_product_param { num_output: 500 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "fc1" top: "fc1" }
layer { name: "score" type: "InnerProduct" bottom: "fc1" top: "score"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label"
  top: "loss" }
"""


def write_auto_nets(root):
    """The two nets that lenet_auto_solver.prototxt names (a notebook writes them)."""
    place = root / "examples" / "mnist"
    for name, batch in (("train", 64), ("test", 100)):
        text = _AUTO_DATA % (name, batch) + _AUTO_REST
        (place / f"lenet_auto_{name}.prototxt").write_text(text)
