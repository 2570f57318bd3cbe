import cv2
import numpy as np
import pytest

from geeps_caffe.errors import DataError
from tests.data.sources import forward, labels, sources


@pytest.fixture
def source():
    with sources() as make:
        yield make


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Writes images of these sizes, all pixels their number, and a list of them."""
    monkeypatch.chdir(tmp_path)

    def write(*sizes):
        for n, (height, width) in enumerate(sizes):
            cv2.imwrite(f"{n}.png", np.full((height, width, 3), n, np.uint8))
        lines = [f"{n}.png {n}\n" for n in range(len(sizes))]
        (tmp_path / "list.txt").write_text("".join(lines))

    return write


def net(batch_size=2, more="", transform=""):
    return (
        f'layer {{ name: "d" type: "ImageData" top: "data" top: "label" '
        f'transform_param {{ {transform} }} image_data_param {{ source: "list.txt" '
        f"batch_size: {batch_size} {more} }} }}"
    )


def test_images_come_in_the_order_of_the_list_and_start_again(source, listed):
    listed(*[(4, 5)] * 3)
    layer = source(net())
    values, classes = forward(layer)
    assert values.shape == (2, 3, 4, 5)
    np.testing.assert_array_equal(values[:, 0, 0, 0], classes)
    assert labels(layer, 2) == [[2, 0], [1, 2]]


def test_a_batch_of_one_takes_each_images_size(source, listed):
    listed((4, 5), (6, 3))
    layer = source(net(1))
    for shape in [(1, 3, 4, 5), (1, 3, 6, 3)]:
        assert layer.pending_shapes() == (shape, (1,))
        assert layer.infer_shapes([]) == (shape, (1,))
        assert forward(layer)[0].shape == shape


def test_a_new_size_holds_for_all(source, listed):
    listed((4, 5), (6, 3))
    layer = source(net(1, "new_height: 8 new_width: 9"))
    assert layer.pending_shapes() is None
    assert [forward(layer)[0].shape for _ in range(2)] == 2 * [(1, 3, 8, 9)]


def test_shuffle_and_workers_and_a_resume_go_together(source, listed):
    listed(*[(1, 1)] * 7)
    whole = labels(source(net(4, "shuffle: true")), 6)
    order = [label for batch in whole for label in batch]
    assert sorted(order[:7]) == sorted(order[7:14]) == list(range(7))
    parts = [source(net(2, "shuffle: true"), rank=r, ranks=2) for r in range(2)]
    assert [labels(part, 1)[0] for part in parts] == [whole[0][0::2], whole[0][1::2]]
    resumed = source(net(4, "shuffle: true"))
    resumed.restore(parts[0].position())
    assert labels(resumed, 3) == whole[1:4]


def test_rand_skip_leaves_out_some_at_the_start_only(source, listed):
    listed(*[(1, 1)] * 5)
    (first,) = labels(source(net(10, "rand_skip: 5")), 1)
    start = first[0]
    assert first == [(start + n) % 5 for n in range(10)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (net(more="new_height: 3"), "new_height is 3 and new_width 0; set both"),
        (net(more="short_side: 3"), "not supported: short_side"),
        (net(more='root_folder: "x/"'), "image file not found: 'x/0.png'"),
        (net(transform="crop_size: 9"), r"image '0.png': crop_size 9x9 does not fit"),
        (net(0), "batch_size is 0"),
    ],
)
def test_wrong_settings_are_refused(source, listed, text, said):
    listed((4, 5))
    with pytest.raises(DataError, match=rf"layer 'd' \(ImageData\).*{said}"):
        source(text)


def test_a_broken_image_is_named_when_its_turn_comes(source, listed, tmp_path):
    listed(*[(4, 5)] * 4)
    (tmp_path / "3.png").write_bytes(b"broken")
    layer = source(net())
    forward(layer)
    with pytest.raises(DataError, match=r"image '3\.png': OpenCV can't decode"):
        forward(layer)


def test_images_of_two_sizes_in_a_batch_are_refused(source, listed):
    listed((4, 5), (6, 3))
    with pytest.raises(DataError, match=r"'1.png' has shape \(3, 6, 3\).*new_height"):
        forward(source(net()))
