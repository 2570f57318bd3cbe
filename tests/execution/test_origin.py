"""Where a wrong value came from: records by their source, nan by its layer."""

import logging

import cv2
import h5py
import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import TEST, TRAIN, Net, set_engine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.datum import write_datum
from geeps_caffe.errors import ItemError
from geeps_caffe.execution.trainer import Trainer
from tests.data.databases import make_database
from tests.execution.recordings import inside

IMAGES = np.zeros((4, 1, 2, 2), np.uint8)
LABELS = [0, 1, 4, 9]
TAIL = (
    'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" '
    "inner_product_param { num_output: 5 } }\n"
    'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" '
    'top: "loss" }\n'
    'layer { name: "hit" type: "Accuracy" bottom: "ip" bottom: "label" top: "hit" }\n'
)


@pytest.fixture(autouse=True)
def place(tmp_path):
    with inside(tmp_path):
        yield tmp_path


@pytest.fixture(params=["reference", "onednn"])
def engine(request):
    set_engine(request.param)
    yield request.param
    set_engine(None)


def net_of(text, phase=TRAIN):
    with open("net.prototxt", "w") as file:
        file.write(text)
    return Net("net.prototxt", phase)


def database(place):
    records = [write_datum(i, n) for i, n in zip(IMAGES, LABELS, strict=True)]
    make_database(place / "db", records)
    return 'type: "Data" data_param { source: "db" batch_size: 4 backend: LMDB }'


def listed(place):
    lines = []
    for i, label in enumerate(LABELS):
        cv2.imwrite(str(place / f"{i}.png"), np.zeros((2, 2, 3), np.uint8))
        lines.append(f"{i}.png {label}\n")
    (place / "list.txt").write_text("".join(lines))
    return 'type: "ImageData" image_data_param { source: "list.txt" batch_size: 4 }'


def rows(place):
    for name, part in (("a.h5", slice(0, 3)), ("b.h5", slice(3, 4))):
        with h5py.File(place / name, "w") as file:
            file["x"] = IMAGES[part].astype(np.float32)
            file["label"] = np.array(LABELS[part], np.float32)
    (place / "files.txt").write_text("a.h5 b.h5\n")
    return 'type: "HDF5Data" hdf5_data_param { source: "files.txt" batch_size: 4 }'


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (database, "record 3 (key '"),
        (listed, "image '3.png'"),
        (rows, "row 0 of 'b.h5'"),
    ],
)
def test_a_label_that_names_no_class_is_named_by_its_record(place, source, name):
    data = f'layer {{ name: "data" top: "x" top: "label" {source(place)} }}\n'
    with pytest.raises(ItemError) as found:
        net_of(data + TAIL).forward()
    said = str(found.value)
    assert "label 9 at position (3,) of the batch" in said
    assert f"; it is {name}" in said
    assert (found.value.bottom, found.value.item) == (1, 3)


RESHAPED = """
layer {{ name: "data" type: "HDF5Data" top: "x" top: "label"
  hdf5_data_param {{ source: "files.txt" batch_size: 4 }} }}
layer {{ name: "scores" type: "Reshape" bottom: "x" top: "scores"
  reshape_param {{ shape {{ dim: {items} dim: 5 }} }} }}
layer {{ name: "labels" type: "Reshape" bottom: "label" top: "labels"
  reshape_param {{ shape {{ dim: {items} }} }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "scores" bottom: "labels" }}
"""


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([[0], [1], [4], [9]], r"\(3,\) of the batch.*; it is row 3 of 'a.h5'"),
        ([[0, 1], [4, 9], [0, 0], [0, 0]], r"\(3,\) of the batch((?!it is).)*$"),
    ],
)
def test_an_item_is_named_by_its_record_if_there_is_one_for_each(place, labels, said):
    """Two labels a record: item 3 is of record 1, so nothing is said of record 3."""
    items = np.size(labels)
    with h5py.File(place / "a.h5", "w") as file:
        file["x"] = np.zeros((4, items // 4 * 5), np.float32)
        file["label"] = np.array(labels, np.float32)
    (place / "files.txt").write_text("a.h5\n")
    with pytest.raises(ItemError, match=said):
        net_of(RESHAPED.format(items=items)).forward()


def test_a_label_that_no_source_gave_is_named_by_its_place():
    inputs = "".join(
        f'layer {{ name: "{name}" type: "Input" top: "{name}" '
        f"input_param {{ shape {{ {shape} }} }} }}\n"
        for name, shape in (("x", "dim: 2 dim: 3"), ("label", "dim: 2"))
    )
    net = net_of(inputs + TAIL)
    net.blobs["label"].data[...] = [0, 7]
    with pytest.raises(ItemError, match=r"label 7 at position \(1,\)") as found:
        net.forward()
    assert "it is" not in str(found.value)


# -- nan ---------------------------------------------------------------------------

CHAIN = (
    'layer { name: "x" type: "Input" top: "x" '
    "input_param { shape { dim: 2 dim: 3 } } }\n"
    'layer { name: "label" type: "Input" top: "label" '
    "input_param { shape { dim: 2 } } }\n"
    'layer { name: "one" type: "InnerProduct" bottom: "x" top: "one" '
    'inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }\n'
    'layer { name: "log" type: "Log" bottom: "one" top: "log" }\n'
    'layer { name: "two" type: "InnerProduct" bottom: "log" top: "two" '
    'inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }\n'
    'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "two" bottom: "label" '
    'top: "loss" }\n'
)


def warned(caplog):
    found = [r.getMessage() for r in caplog.records if "is seen first" in r.message]
    caplog.clear()
    return found


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("phase", [TRAIN, TEST])
def test_the_first_layer_with_nan_is_named_once(engine, phase, caplog):
    net = net_of(CHAIN, phase)
    net.params["one"][0].data[...] = -1
    with caplog.at_level(logging.WARNING):
        net.forward(x=np.ones((2, 3)))
        (said,) = warned(caplog)
        net.forward(x=np.ones((2, 3)))
    assert said.startswith("layer 'loss' (SoftmaxWithLoss) at net.prototxt:6: the loss")
    assert "is seen first in layer 'log' (Log) at net.prototxt:4" in said
    assert not warned(caplog)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_weights_that_are_nan_already_are_told(engine, caplog):
    net = net_of(CHAIN)
    net.params["two"][0].data[...] = np.nan
    with caplog.at_level(logging.WARNING):
        net.forward(x=np.ones((2, 3)))
    assert "first in layer" in caplog.text


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_an_input_with_nan_is_named(engine, caplog):
    net = net_of(CHAIN)
    with caplog.at_level(logging.WARNING):
        net.forward(x=np.full((2, 3), np.nan))
    (said,) = warned(caplog)
    assert "first in layer 'x' (Input)" in said


MERGED = """base_lr: 0.1 lr_policy: "fixed" snapshot_after_train: false net_param {
  layer { name: "data" type: "DummyData" top: "data" top: "wanted" dummy_data_param {
    shape { dim: 4 dim: 3 } data_filler { type: "gaussian" } } }
  layer { name: "norm" type: "BatchNorm" bottom: "data" top: "norm" }
  layer { name: "scale" type: "Scale" bottom: "norm" top: "scale" }
  layer { name: "log" type: "Log" bottom: "scale" top: "log" }
  layer { name: "loss" type: "EuclideanLoss" bottom: "log" bottom: "wanted"
    top: "loss" } }"""


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_layers_that_are_merged_are_looked_at_as_one(engine, caplog):
    solver = prototxt.parse_solver(MERGED).message
    trainer = Trainer(solver, "", RunSettings(engine=engine, seed=1))
    assert "norm" not in trainer.net.program.data
    with caplog.at_level(logging.WARNING):
        trainer.step(1)
    trainer.close()
    assert "is seen first in layer 'log'" in caplog.text
