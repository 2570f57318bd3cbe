"""The public nets in the corpus: which there are, and what their records look like.

A record's shape is given where only the data (or a Python file) of the authors tells
it. `small` are shapes at which a net is the same but for its time.
"""

import csv
from dataclasses import dataclass, field

import pytest

import prototxt
from geeps_caffe.graph.build import Source
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.override import MadeUp, replace_data_layers

CIFAR, MNIST, IMAGENET = (3, 32, 32), (1, 28, 28), (3, 224, 224)

#: Part of a path -> shapes of one record by blob.
RECORDS = {
    "examples/cifar10/cifar10_": {"data": CIFAR},
    "hdf5_classification/": {"data": (4,)},
    "examples/mnist/": {"data": MNIST},
    "lenet_test.prototxt": {"data": MNIST},
    "lenet_traintest.prototxt": {"data": MNIST},
    "linear_regression.prototxt": {"data": (3,)},
    "siamese/mnist_siamese_train_test": {"pair_data": (2, 28, 28)},
    "DIGITS/digits/standard-networks/caffe/lenet": {"data": MNIST},
    "caffe-vdsr/Train": {"data": (1, 41, 41), "label": (1, 41, 41)},
    "fcn_object_detector": {"data": IMAGENET, "label": (1, 224, 224)},
    "res20_cifar_train_test": {"Data1": CIFAR},
    "resnet-20/trainval": {"data": CIFAR},
    "siftflow-fcn8s": {
        "data": (3, 256, 256),
        "sem": (1, 256, 256),
        "geo": (1, 256, 256),
    },
    "fcn.berkeleyvision.org": {"data": (3, 500, 375), "label": (1, 500, 375)},
    "train_DilatedNet": {"data": (3, 384, 384), "label": (1, 384, 384)},
    "RankIQA": {"data": IMAGENET, "label": ()},
    "VanillaCNN": {"X": (3, 40, 40), "landmarks": (10,)},
}

#: Part of a path -> stages without which a net has no data in TEST.
STAGES = {
    "mnist_autoencoder": ("test-on-test",),
    "LRCN_activity_recognition": ("test-on-test",),
}

#: Part of a path -> what users read when it can't be built, and rightly so.
REFUSED = {
    "pycaffe/linreg": "module 'pyloss' can't be imported",
    "RankIQA": "module 'src.MyLossLayer",
    "VanillaCNN": "module 'python.NormlizedMSE' can't be imported",
    "LightenedCNN_B_deploy": "unknown bottom blob 'label'",
    "DIGITS/digits/standard-networks/caffe/": "num_output is 0 or missing",
}


def value_for(path, table, default):
    """The entry of the first key that is part of `path`."""
    return next((value for part, value in table.items() if part in path), default)


def manifest(corpus, kind):
    """Paths of all files of a kind ("net", "solver") that need no fork's layers."""
    with open(corpus / "zoo" / "manifest.tsv", encoding="utf-8", newline="") as file:
        return [
            row["path"]
            for row in csv.DictReader(file, delimiter="\t")
            if row["mainline"].startswith("yes") and row["kind"].startswith(kind)
        ]


@dataclass(frozen=True)
class Whole:
    """A famous net, small enough to be run here.

    `loss_on` names the blob of class scores of a net that has no loss of its own.
    """

    path: str
    records: dict = field(default_factory=dict)
    batch: int | None = 1
    loss_on: str = ""
    clips: tuple | None = None  # frames and videos, of a recurrent net
    slow: bool = False


_GEEPS = "cuihenggang__caffe/examples"
WHOLE = {
    "CaffeNet": Whole(
        "BVLC__caffe/models/bvlc_reference_caffenet/train_val.prototxt",
        {"data": (3, 115, 115)},
    ),
    "AlexNet": Whole(
        "BVLC__caffe/models/bvlc_alexnet/train_val.prototxt", {"data": (3, 115, 115)}
    ),
    "GoogLeNet": Whole("BVLC__caffe/models/bvlc_googlenet/train_val.prototxt"),
    "VGG-16": Whole(
        "mqingkui__vgg-prototxt/VGG_ILSVRC_16_layers_train_val.prototxt",
        {"data": (3, 64, 64)},
    ),
    "ResNet-50": Whole(
        "intel__caffe/models/default_resnet_50/train_val.prototxt", slow=True
    ),
    "SqueezeNet": Whole(
        "forresti__SqueezeNet/SqueezeNet_v1.0/train_val.prototxt",
        {"data": (3, 115, 115)},
    ),
    "NiN": Whole("cooparation__classifier_play/nin/train_val.prototxt"),
    "DenseNet-121": Whole(
        "shicai__DenseNet-Caffe/DenseNet_121.prototxt",
        {"data": (3, 96, 96)},
        loss_on="fc6",
    ),
    "Inception-v3": Whole(
        "soeaver__caffe-model/cls/inception/deploy_inception-v3.prototxt",
        {"data": (3, 139, 139)},
        loss_on="classifier",
    ),
    "Inception-v3 of GeePS": Whole(
        f"{_GEEPS}/imagenet/8parts/inception_v3_train_val.prototxt.template", slow=True
    ),
    "FCN-8s": Whole(
        "shelhamer__fcn.berkeleyvision.org/siftflow-fcn8s/trainval.prototxt",
        {"data": (3, 24, 24), "sem": (1, 24, 24), "geo": (1, 24, 24)},
    ),
    "LRCN": Whole(
        f"{_GEEPS}/LRCN_activity_recognition/8parts/"
        "train_test_lstm_RGB.prototxt.template",
        {"data": (3, 99, 99)},
        clips=(3, 2),
    ),
}


NETS = [
    pytest.param(whole, id=name, marks=[pytest.mark.slow] if whole.slow else [])
    for name, whole in WHOLE.items()
]


def read_whole(corpus, whole):
    """A Whole net for TRAIN with made-up data, as a message."""
    message = prototxt.read_net(str(corpus / "zoo" / whole.path)).message
    if whole.clips:
        shorten_clips(message, *whole.clips)
    if whole.loss_on:
        add_loss(message, whole.loss_on, whole.batch)
    made_up = MadeUp(whole.records, whole.batch)
    return replace_data_layers(Source(message), NetState("TRAIN"), made_up).message


def shorten_clips(message, frames, videos):
    """Other lengths in the Reshape layers that say how a batch of clips is laid out."""
    for spec in message.layer:
        if spec.type == "Reshape":
            spec.reshape_param.shape.dim[0:2] = [frames, videos]


def add_loss(message, scores, batch):
    """What training needs beside a deploy net: labels, and a loss of class scores."""
    label = message.layer.add(name="label", type="DummyData", top=["label"])
    label.dummy_data_param.shape.add().dim.append(batch)
    label.dummy_data_param.data_filler.add(type="constant", value=7)
    message.layer.add(
        name="loss", type="SoftmaxWithLoss", bottom=[scores, "label"], top=["loss"]
    )
