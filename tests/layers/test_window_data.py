import cv2
import numpy as np
import pytest

from geeps_caffe.data.mean import write_mean
from geeps_caffe.errors import DataError
from tests.data.sources import forward, labels, sources


@pytest.fixture
def source():
    with sources() as make:
        yield make


@pytest.fixture(autouse=True)
def image(tmp_path, monkeypatch, rng):
    """An image of 20 x 30 with two foreground and two background windows."""
    monkeypatch.chdir(tmp_path)
    image = rng.integers(0, 256, (20, 30, 3), np.uint8)
    cv2.imwrite("a.png", image)
    windows = ["3 0.8 2 3 9 10", "5 0.9 0 0 7 7", "3 0.1 4 4 11 11", "1 0.2 1 1 8 8"]
    head = ["# 0", "a.png", "3", "20", "30", str(len(windows))]
    (tmp_path / "windows.txt").write_text("\n".join([*head, *windows, ""]))
    return image


def net(batch_size=4, more="", transform="crop_size: 8"):
    return (
        'layer { name: "d" type: "WindowData" top: "data" top: "label" '
        f'transform_param {{ {transform} }} window_data_param {{ source: "windows.txt" '
        f"batch_size: {batch_size} {more} }} }}"
    )


@pytest.mark.parametrize(
    ("fraction", "foreground"), [(0.25, 2), (0.5, 4), (0, 0), (1, 8)]
)
def test_background_comes_first_and_then_foreground(source, fraction, foreground):
    layer = source(net(8, f"fg_fraction: {fraction}"))
    for batch in labels(layer, 3):
        assert batch[: 8 - foreground] == [0] * (8 - foreground)
        assert set(batch[8 - foreground :]) <= {3, 5}


def test_a_window_of_the_crops_size_is_cut_out_as_it_is(source, image):
    cuts = [(2, 3), (0, 0), (4, 4), (1, 1)]
    legal = [image[y : y + 8, x : x + 8].transpose(2, 0, 1) for x, y in cuts]
    values, _ = forward(source(net(20, "fg_fraction: 0.5")))
    assert all(any((v == cut).all() for cut in legal) for v in values)
    assert len({v.tobytes() for v in values}) == 4


def test_mirrors_occur(source, image):
    layer = source(net(40, "fg_fraction: 0", "crop_size: 8 mirror: true"))
    assert len({v.tobytes() for v in forward(layer)[0]}) == 4  # two windows, both ways


def test_cached_images_give_the_same(source, tmp_path):
    plain = forward(source(net()))
    cached = source(net(more="cache_images: true"))
    (tmp_path / "a.png").unlink()
    np.testing.assert_array_equal(forward(cached)[0], plain[0])


def test_the_middle_of_the_mean_is_subtracted(source, tmp_path):
    mean = np.arange(3 * 12 * 12, dtype=np.float32).reshape(3, 12, 12)
    (tmp_path / "mean").write_bytes(write_mean(mean))
    plain = forward(source(net()))[0]
    less = forward(source(net(transform='crop_size: 8 mean_file: "mean"')))[0]
    expected = np.broadcast_to(mean[:, 2:10, 2:10], plain.shape)
    np.testing.assert_array_equal(plain - less, expected)


def test_workers_and_a_resume_see_the_same_windows(source):
    more = "fg_fraction: 0.5"
    whole = [forward(layer) for layer in [source(net(8, more))] for _ in range(3)]
    parts = [source(net(4, more), rank=rank, ranks=2) for rank in range(2)]
    for batch in whole[:2]:
        for rank, part in enumerate(parts):
            for ours, expected in zip(forward(part), batch, strict=True):
                np.testing.assert_array_equal(ours, expected[rank::2])
    resumed = source(net(8, more))
    resumed.restore(parts[0].position())
    np.testing.assert_array_equal(forward(resumed)[0], whole[2][0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (net(transform=""), "crop_size 0"),
        (net(more="context_pad: 4"), "over twice the context_pad of 4"),
        (net(more='crop_mode: "circle"'), "expected warp or square"),
        (net(more="fg_threshold: 0.95"), "has no foreground window"),
        (net(more="bg_threshold: 0.05"), "has no background window"),
        (net(transform="crop_size: 8 mean_value: 1 mean_value: 2"), "give 1 or 3"),
        (net(0), "batch_size is 0"),
    ],
)
def test_wrong_settings_are_refused(source, text, said):
    with pytest.raises(DataError, match=rf"layer 'd' \(WindowData\).*{said}"):
        source(text)


def test_a_window_outside_of_its_image_is_named(source, tmp_path):
    text = (tmp_path / "windows.txt").read_text().replace("9 10", "9 25")
    (tmp_path / "windows.txt").write_text(text)
    layer = source(net(20, "fg_fraction: 1"))
    with pytest.raises(DataError, match=r"\(2, 3, 9, 25\) of image 'a\.png'.*20 rows"):
        forward(layer)
