"""Features of a small net, worked out by hand, as records of databases."""

import numpy as np
import pytest

from geeps_caffe.commands.extract_features import main
from geeps_caffe.data import open_database
from geeps_caffe.data.database_writer import DatabaseWriter
from geeps_caffe.data.datum import write_datum
from geeps_caffe.errors import InputError, UsageError
from prototxt import read_net
from prototxt.schema import Datum
from prototxt.weights import write_weights

NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label"
  include { phase: TEST } data_param { source: "images" backend: LMDB batch_size: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 bias_term: false } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
layer { name: "sum" type: "Reduction" bottom: "ip" top: "sum" }
"""
IMAGES = ([[1, 2]], [[3, 0]], [[0, 5]])  # (H, W) of one channel
ROWS = [[1.0, 1.0], [1.0, -1.0]]
FEATURES = [[3, 0], [3, 3], [5, 0], [3, 0]]  # the fourth is of the first image again


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DatabaseWriter("images", "lmdb") as writer:
        for number, image in enumerate(IMAGES):
            pixels = np.array([image], np.uint8)
            writer.put(f"{number}", write_datum(pixels, number))
        writer.finish()
    (tmp_path / "net.prototxt").write_text(NET)
    message = read_net("net.prototxt").message
    blobs = [
        [np.array(ROWS, np.float32)] if y.name == "ip" else [] for y in message.layer
    ]
    write_weights("net.caffemodel", message, blobs)


def run(blobs, databases, batches="2", backend="lmdb", *device):
    files = ["net.caffemodel", "net.prototxt"]
    return main([*files, blobs, databases, batches, backend, *device])


def records(path, backend="lmdb"):
    database = open_database(path, backend)
    found = {}
    for i in range(len(database)):
        found[database.key(i)] = Datum.FromString(bytes(database.read(i)))
    database.close()
    return found


@pytest.mark.parametrize("backend", ["lmdb", "leveldb"])
def test_each_blob_has_a_database_of_its_records(backend):
    assert run("ip,data", "features,copies", "2", backend) == 0
    found = records("features", backend)
    assert list(found) == [f"{i:010d}" for i in range(4)]
    assert [list(datum.float_data) for datum in found.values()] == FEATURES
    first = next(iter(found.values()))
    assert (first.channels, first.height, first.width) == (2, 1, 1)
    assert not first.HasField("label")
    copy = records("copies", backend)["0000000001"]
    assert (copy.channels, copy.height, copy.width) == (1, 1, 2)
    assert list(copy.float_data) == [3, 0]


def test_a_number_is_one_record_a_batch():
    assert run("sum", "sums") == 0
    found = records("sums").values()
    assert [list(datum.float_data) for datum in found] == [[9], [8]]


def test_layers_that_only_the_weights_have_are_told(tmp_path, caplog):
    caplog.set_level("INFO")
    (tmp_path / "net.prototxt").write_text(NET.replace('"ip" type', '"new" type'))
    assert run("ip", "features") == 0
    assert "Ignoring source layer ip" in caplog.text
    assert "layer 'new' (InnerProduct) has no weights in net.caffemodel" in caplog.text


def test_without_a_gpu_the_cpu_does_it(caplog):
    assert run("ip", "features", "1", "lmdb", "GPU", "0") == 0
    assert "no usable one here" in caplog.text
    assert len(records("features")) == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ip,data", "one"), "a database for each blob"),
        (("ip,ip", "one,two"), "each of them once"),
        (("ip,data", "one,./one/"), "each of them once"),
        (("ipp", "one"), "unknown blob 'ipp'; did you mean 'ip'"),
        (("ip", "one", "0"), "BATCHES is '0'"),
        (("ip", "one", "x"), "BATCHES is 'x'"),
        (("ip", "one", "1", "lmbd"), "lmdb"),
        (("ip", "one", "1", "lmdb", "TPU"), "expected CPU or GPU"),
        (("ip", "one", "1", "lmdb", "GPU", "-1"), "DEVICE_ID is '-1'"),
    ],
)
def test_words_that_do_not_fit_are_told_before_anything_is_made(tmp_path, words, told):
    with pytest.raises(UsageError, match=told):
        run(*words)
    assert not list(tmp_path.glob("one*"))


def test_a_database_that_is_there_stays(tmp_path):
    (tmp_path / "features").mkdir()
    with pytest.raises(InputError, match="exists already"):
        run("data,ip", "copies,features")
    assert not (tmp_path / "copies").exists()
    assert not list(tmp_path.glob("*.part"))


def test_without_words_it_shows_usage(capsys):
    assert main([]) == 1
    assert "extract_features [FLAGS] WEIGHTS NET" in capsys.readouterr().out
