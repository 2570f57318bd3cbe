"""caffe.io beside what the real pycaffe computed."""

import logging

import numpy as np
import pytest

from geeps_caffe import caffe
from geeps_caffe.data.mean import write_mean
from geeps_caffe.errors import DataError, UsageError


@pytest.fixture
def recorded(golden):
    with np.load(golden / "pycaffe" / "caffe_io.npz") as arrays:
        yield arrays


def agree(found, wanted, rtol=1e-4, atol=1e-5):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol, atol)


@pytest.mark.parametrize("name", ["p00.png", "p04.png", "v1.png"])
@pytest.mark.parametrize("kind", ["color", "gray"])
def test_images_are_those_of_pycaffe(golden, recorded, name, kind):
    path = golden / "pycaffe" / "images" / name
    image = caffe.io.load_image(path, kind == "color")
    assert image.dtype == np.float32
    agree(image, recorded[f"load_image_{kind}/{name}"], atol=1e-6)


def test_what_is_no_image_is_named(tmp_path):
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(DataError, match=r"a\.png.*can't decode"):
        caffe.io.load_image(str(tmp_path / "a.png"))
    with pytest.raises(DataError, match=r"b\.png"):
        caffe.io.load_image(str(tmp_path / "b.png"))


@pytest.mark.parametrize(
    ("source", "result", "order"),
    [
        ("in3", "up3_18x25", 1),
        ("in3", "up3_order0", 0),
        ("in3", "down3_5x6", 1),
        ("in5", "up5_12x14", 1),
    ],
)
def test_sizes_change_by_the_rules_of_pycaffe(recorded, source, result, order):
    wanted = recorded[f"resize/{result}"]
    size = wanted.shape[:2]
    agree(caffe.io.resize_image(recorded[f"resize/{source}"], size, order), wanted)


def test_a_single_colour_stays_what_it_is(recorded):
    found = caffe.io.resize_image(np.full((3, 4, 1), 0.25), (6, 6))
    assert found.dtype == np.float32
    assert (found == 0.25).all()


def test_other_arrays_are_no_images():
    with pytest.raises(ValueError, match="shape"):
        caffe.io.resize_image(np.ones((3, 4)), (6, 6))
    with pytest.raises(ValueError, match="interp_order 3"):
        caffe.io.resize_image(np.ones((3, 4, 1)), (6, 6), 3)


def test_ten_crops_are_in_the_order_of_pycaffe(recorded):
    found = caffe.io.oversample(recorded["oversample/in"], (6, 8))
    np.testing.assert_array_equal(found, recorded["oversample/out_6x8"])


def test_crops_larger_than_the_image_are_refused():
    with pytest.raises(ValueError, match="12 x 8 don't fit into images of 10 x 12"):
        caffe.io.oversample([np.ones((10, 12, 3))], (12, 8))


# -- Transformer -----------------------------------------------------------------


def image_net(shape=(1, 3, 14, 16), mean=(104.0, 117.0, 123.0)):
    transformer = caffe.io.Transformer({"data": shape})
    transformer.set_transpose("data", (2, 0, 1))
    transformer.set_channel_swap("data", (2, 1, 0))
    transformer.set_raw_scale("data", 255)
    transformer.set_mean("data", np.array(mean))
    transformer.set_input_scale("data", 0.017)
    return transformer


def test_an_image_is_transformed_in_the_order_of_pycaffe(rng):
    image = rng.random((14, 16, 3)).astype(np.float32)
    found = image_net().preprocess("data", image)
    planes = image.transpose(2, 0, 1)[::-1] * 255
    wanted = (planes - np.array([104, 117, 123])[:, None, None]) * 0.017
    agree(found, wanted.astype(np.float32))
    agree(image_net().deprocess("data", found), image)


def test_transforms_are_those_of_pycaffe(recorded):
    transformer = image_net()
    found = transformer.preprocess("data", recorded["transformer/in"])
    wanted = recorded["transformer/out"]
    agree(found, wanted, atol=1e-4)
    small = transformer.preprocess("data", recorded["transformer/in_small"])
    agree(small, recorded["transformer/out_resized"], atol=1e-3)
    agree(transformer.deprocess("data", wanted), recorded["transformer/deprocess"])


def test_a_mean_image_is_subtracted(recorded):
    transformer = caffe.io.Transformer({"data": (1, 3, 6, 6)})
    transformer.set_transpose("data", (2, 0, 1))
    mean, wanted = recorded["transformer2/mean"], recorded["transformer2/out"]
    transformer.set_mean("data", mean)
    # pycaffe worked in place, so that the recorded input is its output
    np.testing.assert_array_equal(
        recorded["transformer2/in"].transpose(2, 0, 1), wanted
    )
    image = (wanted + mean).transpose(1, 2, 0)
    before = image.copy()
    agree(transformer.preprocess("data", image), wanted)
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("kind", ["array", "npy", "binaryproto"])
def test_the_middle_of_a_larger_mean_is_taken_and_said(tmp_path, caplog, kind):
    mean = np.arange(3 * 8 * 9, dtype=np.float32).reshape(3, 8, 9)
    given = tmp_path / f"mean.{kind}"
    if kind == "array":
        given = mean
    elif kind == "npy":
        np.save(given, mean)
    else:
        given.write_bytes(write_mean(mean))
    transformer = caffe.io.Transformer({"data": (10, 3, 4, 5)})
    with caplog.at_level(logging.WARNING):
        transformer.set_mean("data", given)
    np.testing.assert_array_equal(transformer.mean["data"], mean[:, 2:6, 2:7])
    assert "of 8 x 9 pixels, the input of 4 x 5: its middle is taken" in caplog.text


def test_a_smaller_mean_is_enlarged_and_said(caplog):
    transformer = caffe.io.Transformer({"data": (10, 3, 4, 5)})
    with caplog.at_level(logging.WARNING):
        transformer.set_mean("data", np.full((3, 2, 2), 7.0))
    np.testing.assert_array_equal(transformer.mean["data"], np.full((3, 4, 5), 7))
    assert "it is resized" in caplog.text


def test_a_mean_that_fits_needs_no_word(caplog):
    transformer = caffe.io.Transformer({"data": (10, 3, 4, 5)})
    transformer.set_mean("data", np.ones((3, 4, 5)))
    transformer.set_mean("data", np.ones((4, 5)))
    assert not caplog.text


@pytest.mark.parametrize("shape", [(4,), (1, 3, 4, 5), (2, 4, 5)])
def test_a_mean_of_other_channels_is_refused_with_both_shapes(shape):
    transformer = caffe.io.Transformer({"data": (10, 3, 4, 5)})
    with pytest.raises(ValueError, match=r"has \(3, 4, 5\)"):
        transformer.set_mean("data", np.ones(shape))


def npy(shape):
    """The head of a file for float32 of a shape, and four numbers."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117)
    return b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + b"\n" + bytes(16)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no array of NumPy"),
        (b"\x80\x04\x95 pickled", "no array of NumPy: .*allow_pickle"),
        (npy("(3, 1000000, 1000000)"), "no array of NumPy: "),
        (npy("(3, 1000000000, 1000000000)"), "no array of NumPy: overflow"),
        (npy("(4,)").replace(b"<f4", b"|S4"), "no array of numbers"),
    ],
)
def test_what_is_no_mean_is_refused_without_being_loaded(tmp_path, content, reason):
    (tmp_path / "mean.npy").write_bytes(content)
    transformer = caffe.io.Transformer({"data": (10, 4, 4, 5)})
    with pytest.raises(DataError, match=rf"mean\.npy' is {reason}"):
        transformer.set_mean("data", tmp_path / "mean.npy")
    (tmp_path / "mean.npy").write_bytes(npy("(4,)"))
    transformer.set_mean("data", tmp_path / "mean.npy")
    assert not transformer.mean["data"].any()


def test_settings_must_fit_the_input():
    transformer = caffe.io.Transformer({"data": (10, 3, 4, 5)})
    with pytest.raises(ValueError, match="expected 3 axes"):
        transformer.set_transpose("data", (1, 0))
    with pytest.raises(ValueError, match="has 3 channels"):
        transformer.set_channel_swap("data", (0,))
    with pytest.raises(UsageError, match="unknown input 'dat'; did you mean 'data'"):
        transformer.set_raw_scale("dat", 1)


# -- messages --------------------------------------------------------------------


def test_blobs_are_those_of_pycaffe(recorded):
    array = recorded["blobproto/in"]
    blob = caffe.io.array_to_blobproto(array, 2 * array)
    assert blob.SerializeToString() == recorded["blobproto/bytes"].tobytes()
    agree(caffe.io.blobproto_to_array(blob), array)
    agree(caffe.io.blobproto_to_array(blob, return_diff=True), 2 * array)


def test_blobs_of_old_files_have_four_axes():
    blob = caffe.proto.caffe_pb2.BlobProto(num=1, channels=2, height=1, width=3)
    blob.data.extend(range(6))
    assert caffe.io.blobproto_to_array(blob).shape == (1, 2, 1, 3)


def test_a_blob_of_one_value_needs_no_shape():
    blob = caffe.proto.caffe_pb2.BlobProto(data=[123])
    assert caffe.io.blobproto_to_array(blob) == 123


def test_values_without_a_shape_are_refused():
    blob = caffe.proto.caffe_pb2.BlobProto(data=[1, 2])
    with pytest.raises(ValueError, match=r"shape \(\) has 2 values"):
        caffe.io.blobproto_to_array(blob)


@pytest.mark.parametrize("kind", ["u8", "f"])
def test_records_are_those_of_pycaffe(recorded, kind):
    array = recorded[f"datum_{kind}/array"]
    datum = caffe.io.caffe_pb2.Datum.FromString(
        recorded[f"datum_{kind}/bytes"].tobytes()
    )
    np.testing.assert_array_equal(caffe.io.datum_to_array(datum), array)
    label = datum.label if datum.HasField("label") else None
    assert caffe.io.array_to_datum(array, label) == datum


def test_a_label_is_optional():
    array = np.ones((3, 2, 2), np.uint8)
    assert not caffe.io.array_to_datum(array).HasField("label")
    assert caffe.io.array_to_datum(array, 0).HasField("label")


def test_other_arrays_are_no_records():
    with pytest.raises(ValueError, match="channels, height, width"):
        caffe.io.array_to_datum(np.ones((2, 2)))
    with pytest.raises(ValueError, match="image file"):
        caffe.io.datum_to_array(caffe.io.caffe_pb2.Datum(encoded=True, data=b"\xff"))


def test_vectors_of_blobs_are_those_of_pycaffe(recorded, rng):
    content = recorded["blobprotovector/bytes"].tobytes()
    arrays = caffe.io.blobprotovector_str_to_arraylist(content)
    assert caffe.io.arraylist_to_blobprotovector_str(arrays) == content
