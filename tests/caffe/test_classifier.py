"""Classifier and Detector, beside what the real pycaffe computed."""

import logging

import numpy as np
import pytest

from geeps_caffe import caffe

SETTINGS = {
    "mean": np.array([104, 117, 123]),
    "raw_scale": 255,
    "channel_swap": (2, 1, 0),
    "input_scale": 0.5,
}


@pytest.fixture
def files(golden):
    folder = golden / "pycaffe"
    return str(folder / "deploy_img.prototxt"), str(folder / "deploy_img.caffemodel")


@pytest.fixture
def images(golden):
    folder = golden / "pycaffe" / "images"
    return [str(folder / name) for name in ("p00.png", "v0.png")]


@pytest.fixture
def recorded(golden):
    with np.load(golden / "pycaffe" / "classifier_detector.npz") as arrays:
        yield arrays


@pytest.mark.parametrize("kind", ["oversample", "center"])
def test_scores_of_images_are_those_of_pycaffe(files, images, recorded, kind):
    classifier = caffe.Classifier(*files, image_dims=(40, 44), **SETTINGS)
    loaded = [caffe.io.load_image(path) for path in images]
    found = classifier.predict(loaded, kind == "oversample")
    np.testing.assert_allclose(found, recorded[f"predict_{kind}"], 1e-3, 1e-5)


def test_images_have_the_size_of_the_input_by_default(files, images):
    classifier = caffe.Classifier(*files)
    assert classifier.image_dims.tolist() == classifier.crop_dims.tolist()
    image = caffe.io.load_image(images[0])
    crops = classifier.predict([image])
    mirrored = classifier.predict([image, image[:, ::-1]], oversample=False)
    np.testing.assert_allclose(crops[0], mirrored.mean(axis=0), 1e-4, 1e-6)


def test_a_mean_larger_than_the_input_is_cut_and_said(files, images, caplog):
    with caplog.at_level(logging.WARNING):
        classifier = caffe.Classifier(*files, mean=np.full((3, 256, 256), 100.0))
    assert "its middle is taken" in caplog.text
    rows, columns = classifier.crop_dims
    assert classifier.transformer.mean["data"].shape == (3, rows, columns)


def test_windows_are_those_of_pycaffe(files, golden, recorded):
    settings = {**SETTINGS, "input_scale": None, "context_pad": 4}
    detector = caffe.Detector(*files, **settings)
    image = str(golden / "pycaffe" / "images" / "v4.png")
    windows = recorded["detect_windows/window"]
    found = detector.detect_windows([(image, windows[:1]), (image, windows[1:])])
    wanted = recorded["detect_windows/prediction"]
    np.testing.assert_allclose([f["prediction"] for f in found], wanted, 1e-4, 1e-6)
    assert found[0]["filename"] == image
    np.testing.assert_array_equal(found[2]["window"], windows[2])


def test_no_windows_have_no_scores(files):
    assert caffe.Detector(*files).detect_windows([]) == []


def test_surroundings_of_a_window_are_shown_beside_it(files, rng):
    detector = caffe.Detector(*files, context_pad=4)
    side = int(detector.crop_dims[1])
    image = np.full((3 * side, 3 * side, 3), 0.5, np.float32)
    image[side : 2 * side, side : 2 * side] = 1
    crop = detector.crop(image, np.array([side, side, 2 * side - 1, 2 * side - 1]))
    assert crop.shape == (side, side, 3)
    middle = slice(side // 2 - 2, side // 2 + 2)
    assert (crop[middle, middle] == 1).all()
    assert (crop[0] == 0.5).all()


def test_beyond_the_image_is_the_mean(files):
    detector = caffe.Detector(
        *files, mean=np.array([51.0, 102, 153]), raw_scale=255, context_pad=4
    )
    side = int(detector.crop_dims[1])
    image = np.ones((side, side, 3), np.float32)
    crop = detector.crop(image, np.array([0, 0, side - 1, side - 1]))
    np.testing.assert_allclose(crop[0, 0], [0.2, 0.4, 0.6], 1e-6)
    assert (crop[side // 2, side // 2] == 1).all()


def test_a_window_beside_the_image_is_refused(files):
    detector = caffe.Detector(*files)
    with pytest.raises(ValueError, match="no pixel of the image"):
        detector.crop(np.ones((10, 10, 3)), np.array([20, 20, 30, 30]))
