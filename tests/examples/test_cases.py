"""Cases that users of Caffe met, through whole nets: what goes in, what must come out.

Names are those of a catalogue of such cases (C01 and so on). C05 is tried in
tests/commands/test_train.py, C16 in tests/execution/test_resume.py.
"""

import logging
import math

import cv2
import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import TEST, TRAIN, Net
from geeps_caffe.data.datum import write_datum
from geeps_caffe.errors import DataError, InputError
from prototxt import PrototxtError
from tests.data.databases import make_database
from tests.execution.recordings import inside


@pytest.fixture(params=["reference", "onednn"])
def engine(request):
    return request.param


@pytest.fixture(autouse=True)
def place(tmp_path):
    with inside(tmp_path):
        yield tmp_path


def make(text, engine, phase=TEST):
    with open("net.prototxt", "w") as file:
        file.write(text)
    return Net("net.prototxt", phase, engine=engine)


def constant(name, shape, value):
    dims = " ".join(f"dim: {n}" for n in shape)
    return (
        f'layer {{ name: "{name}" type: "DummyData" top: "{name}" dummy_data_param '
        f"{{ shape {{ {dims} }} data_filler {{ value: {value} }} }} }}\n"
    )


def declared(name, shape):
    dims = " ".join(f"dim: {n}" for n in shape)
    return (
        f'layer {{ name: "{name}" type: "Input" top: "{name}" '
        f"input_param {{ shape {{ {dims} }} }} }}\n"
    )


# -- C01: accuracy of scores that are all alike --------------------------------


@pytest.mark.parametrize(("k", "share"), [(1, 0), (5, 0), (10, 1)])
def test_c01_scores_that_are_all_alike_hit_only_if_all_classes_count(engine, k, share):
    text = constant("score", (4, 10), 0) + constant("label", (4,), 3)
    text += (
        'layer { name: "a" type: "Accuracy" bottom: "score" bottom: "label" top: "a" '
        f'top: "each" accuracy_param {{ top_k: {k} }} }}'
    )
    net = make(text, engine)
    out = net.forward()
    assert out["a"] == share
    np.testing.assert_array_equal(out["each"], [0] * 3 + [share] + [0] * 6)


# -- C02: nothing but ignored labels -------------------------------------------


@pytest.mark.parametrize("mode", ["", "VALID", "FULL", "BATCH_SIZE"])
def test_c02_a_batch_of_ignored_labels_costs_nothing(engine, mode, rng):
    normalization = f"normalization: {mode}" if mode else ""
    text = "force_backward: true\n"
    text += declared("score", (2, 3, 2, 2)) + declared("label", (2, 2, 2))
    text += (
        'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" '
        f'top: "loss" loss_param {{ ignore_label: 255 {normalization} }} }}\n'
        'layer { name: "a" type: "Accuracy" bottom: "score" bottom: "label" top: "a" '
        "accuracy_param { ignore_label: 255 } }"
    )
    net = make(text, engine, TRAIN)
    net.blobs["score"].data[...] = rng.standard_normal((2, 3, 2, 2))
    net.blobs["label"].data[...] = 255
    out = net.forward()
    net.backward()
    assert (out["loss"], out["a"]) == (0, 0)
    assert not net.blobs["score"].diff.any()


# -- C06: odd lines of an image list -------------------------------------------


def test_c06_odd_lines_of_a_list_are_understood(engine, place):
    for name, value in (("a.jpg", 10), ("b c.jpg", 90), ("d.jpg", 200)):
        cv2.imwrite(name, np.full((8, 8, 3), value, np.uint8))
    (place / "list.txt").write_bytes(b"a.jpg 9 \r\n\r\nb c.jpg 3\r\nd.jpg\t4")
    net = make(
        'layer { name: "d" type: "ImageData" top: "data" top: "label" '
        'image_data_param { source: "list.txt" batch_size: 3 } }',
        engine,
    )
    out = net.forward()
    assert out["label"].tolist() == [9, 3, 4]
    means = out["data"].mean(axis=(1, 2, 3))
    np.testing.assert_allclose(means, [10, 90, 200], atol=2)


# -- C08: old and new layers in one file ---------------------------------------


def test_c08_old_and_new_layers_together_are_refused(engine):
    text = constant("x", (2, 3), 1) + (
        'layers { name: "ip" type: INNER_PRODUCT bottom: "x" top: "ip" '
        "inner_product_param { num_output: 2 } }"
    )
    with pytest.raises(PrototxtError) as found:
        make(text, engine)
    said = str(found.value)
    for part in ("mixes formats", "'x' (line 1)", "'ip' (line 2)"):
        assert part in said, said
    assert 'type: "InnerProduct"' in said  # the upgraded text


@pytest.mark.parametrize("name", ["v1_all_types", "v1_inputs", "v1_train_val"])
def test_c08_nets_that_are_old_throughout_load(golden, name):
    folder = golden / "upgrade"
    ours = prototxt.read_net(folder / f"{name}.prototxt").message
    assert ours == prototxt.read_net(folder / f"{name}.upgraded.prototxt").message


# -- C10: statistics of BatchNorm ----------------------------------------------


def batch_norm(phase, engine, batch, caplog, extra=""):
    text = declared("x", (batch, 1, 1, 1)) + (
        'layer { name: "bn" type: "BatchNorm" bottom: "x" top: "y" '
        f"batch_norm_param {{ {extra} }} }}"
    )
    with caplog.at_level(logging.WARNING):
        net = make(text, engine, phase)
        net.blobs["x"].data[...] = np.arange(1, batch + 1).reshape(batch, 1, 1, 1)
        net.forward()
    return net


def test_c10_the_batch_normalizes_and_the_unbiased_variance_is_stored(engine, caplog):
    net = batch_norm(TRAIN, engine, 4, caplog)
    expected = [-1.34164, -0.447212, 0.447212, 1.34164]
    np.testing.assert_allclose(net.blobs["y"].data.ravel(), expected, rtol=1e-5)
    stored = [float(blob.data.ravel()[0]) for blob in net.params["bn"]]
    np.testing.assert_allclose(stored, [2.5, 1.25 * 4 / 3, 1], rtol=1e-5)


@pytest.mark.parametrize("batch", [4, 1])
def test_c10_batch_statistics_in_a_test_are_warned_about(engine, batch, caplog):
    net = batch_norm(TEST, engine, batch, caplog, "use_global_stats: false")
    expected = [-1.34164, -0.447212, 0.447212, 1.34164] if batch == 4 else [0]
    np.testing.assert_allclose(net.blobs["y"].data.ravel(), expected, rtol=1e-5)
    assert "results depend on the batch" in caplog.text


# -- C11: means of another size ------------------------------------------------


def write_mean(path, shape):
    blob = prototxt.BlobProto(num=1, channels=shape[0], height=shape[1], width=shape[2])
    blob.data.extend(np.arange(math.prod(shape), dtype=np.float32) % 251)
    path.write_bytes(blob.SerializeToString())
    return np.array(blob.data, np.float32).reshape(shape)


def test_c11_a_mean_of_another_size_is_refused_before_training(engine, place):
    pixels = np.zeros((3, 760, 600), np.uint8)
    make_database(place / "db", [write_datum(pixels, 0)])
    write_mean(place / "mean.binaryproto", (3, 256, 256))
    with pytest.raises(DataError) as found:
        make(
            'layer { name: "d" type: "Data" top: "data" '
            'transform_param { mean_file: "mean.binaryproto" } '
            'data_param { source: "db" batch_size: 1 backend: LMDB } }',
            engine,
        )
    said = str(found.value)
    for part in ("760", "600", "256", "mean.binaryproto", "db", "mean_value", "resize"):
        assert part in said, said


def test_c11_the_mean_is_cropped_with_the_image(engine, place):
    cv2.imwrite("a.png", np.full((300, 280, 3), 100, np.uint8))
    (place / "list.txt").write_text("a.png 0\n")
    mean = write_mean(place / "mean.binaryproto", (3, 256, 256))
    net = make(
        'layer { name: "d" type: "ImageData" top: "data" top: "label" '
        'transform_param { mean_file: "mean.binaryproto" crop_size: 227 } '
        'image_data_param { source: "list.txt" batch_size: 1 new_height: 256 '
        "new_width: 256 } }",
        engine,
    )
    offset = (256 - 227) // 2
    inner = slice(offset, offset + 227)
    expected = 100 - mean[:, inner, inner]
    np.testing.assert_array_equal(net.forward()["data"][0], expected)


def test_c11_two_means_are_refused(engine, place):
    make_database(place / "db", [write_datum(np.zeros((3, 4, 4), np.uint8), 0)])
    write_mean(place / "mean.binaryproto", (3, 4, 4))
    with pytest.raises(InputError, match=r"mean_file.*mean_value"):
        make(
            'layer { name: "d" type: "Data" top: "data" transform_param { '
            'mean_file: "mean.binaryproto" mean_value: 1 } '
            'data_param { source: "db" batch_size: 1 backend: LMDB } }',
            engine,
        )


# -- C18: divisors of losses ---------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "mode", "expected"),
    [
        ("SigmoidCrossEntropyLoss", "", 2.07944),
        ("SigmoidCrossEntropyLoss", "VALID", 0.693147),
        ("SigmoidCrossEntropyLoss", "FULL", 0.693147),
        ("SigmoidCrossEntropyLoss", "NONE", 4.15888),
        ("SoftmaxWithLoss", "", 1.09861),
    ],
)
def test_c18_the_divisor_of_a_loss(engine, kind, mode, expected):
    targets = (2, 3) if kind.startswith("Sig") else (2,)
    text = declared("score", (2, 3)) + declared("label", targets)
    param = f"loss_param {{ normalization: {mode} }}" if mode else ""
    text += (
        f'layer {{ name: "loss" type: "{kind}" bottom: "score" bottom: "label" '
        f'top: "loss" {param} }}'
    )
    net = make(text, engine)
    net.blobs["label"].data.ravel()[::2] = 1
    assert float(net.forward()["loss"].sum()) == pytest.approx(expected, rel=1e-5)
