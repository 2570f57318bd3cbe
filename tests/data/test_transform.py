import numpy as np
import pytest

from geeps_caffe.data.transform import Transform

PLACES = np.arange(64, dtype=np.int64)


def write(transform, images, places=PLACES):
    images = list(images)
    out = np.full((len(images), *transform.output(images[0].shape)), np.nan, np.float32)
    transform.write(images, places[: len(images)], out)
    return out


@pytest.fixture(params=["raw", "decoded", "float"])
def image(request, rng):
    """An image (3, 9, 8), as it lies in a database or comes from a decoder."""
    if request.param == "raw":
        return rng.integers(0, 256, (3, 9, 8), np.uint8)
    if request.param == "decoded":
        return rng.integers(0, 256, (9, 8, 3), np.uint8).transpose(2, 0, 1)
    return rng.standard_normal((3, 9, 8)).astype(np.float32)


def test_without_settings_pixels_become_floats(image):
    np.testing.assert_array_equal(write(Transform(), [image])[0], image)


def test_the_mean_goes_before_the_scale(image):
    transform = Transform(scale=0.5, mean_values=(10.0,))
    expected = (image.astype(np.float32) - 10) * np.float32(0.5)
    np.testing.assert_array_equal(write(transform, [image])[0], expected)


def test_each_channel_has_its_mean(image):
    transform = Transform(mean_values=(1.0, 2.0, 3.0))
    expected = image - np.float32([1, 2, 3])[:, None, None]
    np.testing.assert_array_equal(write(transform, [image])[0], expected)


def test_in_testing_the_crop_is_in_the_middle(image, rng):
    mean = rng.standard_normal((3, 9, 8)).astype(np.float32)
    transform = Transform(crop=(4, 5), mean=mean)
    part = np.s_[:, 2:6, 1:6]  # (9 - 4) // 2 and (8 - 5) // 2
    expected = image[part].astype(np.float32) - mean[part]
    np.testing.assert_array_equal(write(transform, [image])[0], expected)


def legal(image, mean, side):
    """All crops of image - mean, and their mirrors, as bytes."""
    whole = image.astype(np.float32) - mean
    crops = [
        whole[:, y : y + side, x : x + side]
        for y in range(9 - side + 1)
        for x in range(8 - side + 1)
    ]
    return [c.tobytes() for c in crops], [c[..., ::-1].tobytes() for c in crops]


@pytest.mark.parametrize("with_mean", [False, True])
def test_in_training_crops_and_mirrors_are_legal_and_all_occur(image, rng, with_mean):
    mean = rng.standard_normal((3, 9, 8)).astype(np.float32) if with_mean else None
    transform = Transform(crop=(7, 7), mirror=True, random_crop=True, mean=mean)
    places = np.arange(300, dtype=np.int64)
    found = {x.tobytes() for x in write(transform, [image] * 300, places)}
    plain, mirrored = legal(image, 0 if mean is None else mean, 7)
    assert found == {*plain, *mirrored}  # 3 x 2 crops, each both ways


def test_half_of_the_images_are_mirrored(rng):
    image = np.array([[[0, 1]]], np.uint8)
    places = np.arange(2000, dtype=np.int64)
    out = write(Transform(mirror=True), [image] * 2000, places)
    assert 900 < out[:, 0, 0, 0].sum() < 1100


def test_what_happens_to_a_record_depends_on_its_place_only(image):
    transform = Transform(crop=(5, 5), mirror=True, random_crop=True)
    together = write(transform, [image] * 64)
    for place in (0, 17, 63):
        alone = write(transform, [image], PLACES[place:])
        np.testing.assert_array_equal(alone[0], together[place])


def test_other_seeds_and_other_layers_have_other_random_numbers(image):
    def crops(**settings):
        return write(
            Transform(crop=(5, 5), random_crop=True, **settings), [image] * 64
        ).tobytes()

    assert len({crops(), crops(seed=2), crops(use=5)}) == 3


def test_a_crop_of_the_whole_image_has_no_random_place(image):
    transform = Transform(crop=(9, 8), random_crop=True)
    np.testing.assert_array_equal(write(transform, [image])[0], image)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("side", [30, 8])  # of the crop: bands are cut, or crops alone
def test_each_picture_of_many_has_its_crop_and_mirror(rng, kind, side):
    images = rng.integers(0, 256, (200, 3, 32, 36), np.uint8).astype(kind)
    transform = Transform(
        crop=(side, side), mirror=True, random_crop=True, mean_values=(1.5, 2, 3)
    )
    out = write(transform, images, np.arange(200, dtype=np.int64))
    cuts = transform.cuts(images, np.arange(200, dtype=np.int64))
    mean = np.float32([1.5, 2, 3])[:, None, None]
    for image, (y, x, flip), found in zip(images, cuts, out, strict=True):
        part = image[:, y : y + side, x : x + side] - mean
        np.testing.assert_array_equal(found, part[..., ::-1] if flip else part)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("side", [1, 4, 128, 129, 513])  # OpenCV has up to 512 channels
def test_each_place_has_its_mean_whatever_the_width(rng, kind, side):
    image = rng.integers(0, 256, (3, side + 2, side + 2), np.uint8).astype(kind)
    mean = rng.standard_normal(image.shape).astype(np.float32)
    transform = Transform(crop=(side, side), mean=mean)
    part = np.s_[:, 1 : side + 1, 1 : side + 1]
    expected = image[part].astype(np.float32) - mean[part]
    np.testing.assert_array_equal(write(transform, [image])[0], expected)


def test_large_batches_are_worked_on_in_parts(rng):
    images = rng.integers(0, 256, (100, 3, 160, 160), np.uint8)
    transform = Transform(mean_values=(3.0,))
    for _ in range(2):  # the second time in the same memory
        out = write(transform, images)
        np.testing.assert_array_equal(out, images - np.float32(3))


def test_a_picture_of_any_size_is_transformed(rng):
    image = rng.integers(0, 256, (3, 600, 800), np.uint8)
    out = write(Transform(mean_values=(1.5, 2, 3), scale=0.5), [image])
    mean = np.array([1.5, 2, 3], np.float32)[:, None, None]
    np.testing.assert_array_equal(out[0], (image - mean) * np.float32(0.5))


def test_bytes_and_floats_of_any_layout_may_be_in_one_batch(rng):
    raw = rng.integers(0, 256, (3, 9, 8), np.uint8)
    decoded = rng.integers(0, 256, (9, 8, 3), np.uint8).transpose(2, 0, 1)
    floats = rng.standard_normal((3, 9, 8)).astype(np.float32)
    for images in ([raw, decoded], [decoded, floats, raw], [floats, raw]):
        out = write(Transform(mean_values=(3.0,)), images)
        np.testing.assert_array_equal(out, np.stack(images) - np.float32(3))


def test_values_can_go_to_float64(image):
    out = np.empty((1, 3, 9, 8))
    Transform(mean_values=(1.5,), scale=2).write([image], PLACES[:1], out)
    np.testing.assert_allclose(out[0], (image.astype(float) - 1.5) * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "shape", "said"),
    [
        ({"crop": (228, 228)}, (3, 227, 227), r"228x228 does not fit.*\(3, 227, 227\)"),
        ({"crop": (224, 224)}, (224, 224, 3), r"written as \(H, W, C\)"),
        (
            {"mean": np.zeros((3, 256, 256), np.float32), "mean_file": "m.binaryproto"},
            (3, 760, 600),
            r"'m.binaryproto' has shape \(3, 256, 256\), the image \(3, 760, 600\).*"
            r"resize.*mean_value",
        ),
        ({"mean_values": (1.0, 2.0, 3.0)}, (1, 5, 5), "3 mean_values.*force_color"),
        ({"mean_values": (1.0, 2.0)}, (3, 5, 5), "give 1 mean_value or 3"),
    ],
)
def test_images_that_do_not_fit_are_refused(settings, shape, said):
    with pytest.raises(ValueError, match=said):
        Transform(**settings).check(shape)
