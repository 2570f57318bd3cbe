import cv2
import numpy as np
import pytest

from geeps_caffe.data.datum import write_datum, write_encoded
from geeps_caffe.data.mean import write_mean
from geeps_caffe.errors import DataError
from tests.data.databases import make_database, numbered
from tests.data.sources import forward, labels, sources


@pytest.fixture
def source():
    with sources() as make:
        yield make


@pytest.fixture
def ten(tmp_path):
    """A database of ten records whose labels are 0 to 9."""
    return make_database(tmp_path / "ten", numbered(10))


def net(database, batch_size=2, more="", transform="", backend="LMDB", tops=2):
    names = " ".join(f'top: "{top}"' for top in ("data", "label")[:tops])
    return (
        f'layer {{ name: "d" type: "Data" {names} transform_param {{ {transform} }} '
        f'data_param {{ source: "{database}" backend: {backend} '
        f"batch_size: {batch_size} {more} }} }}"
    )


def images(*shapes):
    return [write_datum(np.zeros(shape, np.uint8), 0) for shape in shapes]


def png(height, width, channels=3):
    shape = (height, width, channels)[: 2 if channels == 1 else 3]
    return write_encoded(
        cv2.imencode(".png", np.zeros(shape, np.uint8))[1].tobytes(), 0
    )


@pytest.mark.parametrize("backend", ["LMDB", "LEVELDB"])
def test_records_come_in_order_and_start_again(source, tmp_path, backend):
    database = make_database(tmp_path / "db", numbered(5), backend.lower())
    layer = source(net(database, backend=backend))
    assert labels(layer, 4) == [[0, 1], [2, 3], [4, 0], [1, 2]]


def test_the_label_is_optional(source, ten):
    layer = source(net(ten, tops=1))
    assert [tuple(top.shape) for top in forward(layer)] == [(2, 1, 1, 1)]


def test_a_resumed_run_goes_on_where_it_stood(source, ten):
    first = source(net(ten))
    assert labels(first, 3) == [[0, 1], [2, 3], [4, 5]]
    resumed = source(net(ten))
    assert resumed.restore(first.position()) == ""
    assert labels(resumed, 3) == [[6, 7], [8, 9], [0, 1]] == labels(first, 3)


def test_workers_see_together_what_one_sees(source, ten):
    whole = labels(source(net(ten, batch_size=6)), 5)
    for settings, batch_size in (({}, 2), ({"global_batch": True}, 6)):
        parts = [
            labels(source(net(ten, batch_size), rank=rank, ranks=3, **settings), 5)
            for rank in range(3)
        ]
        for step, batch in enumerate(whole):
            assert [batch[rank::3] for rank in range(3)] == [p[step] for p in parts]


def test_a_global_batch_that_can_not_be_divided_is_refused(source, ten):
    with pytest.raises(DataError, match=r"layer 'd' \(Data\) at net.prototxt:1: batch"):
        source(net(ten, 5), ranks=2, global_batch=True)


def test_shuffle_has_every_record_once_in_each_pass(source, ten):
    layer = source(net(ten, batch_size=10, more="shuffle: true"))
    first, second = labels(layer, 2)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def test_a_shuffled_run_resumes_in_the_same_order(source, ten):
    text = net(ten, batch_size=3, more="shuffle: true")
    first, resumed = source(text), source(text)
    labels(first, 5)
    resumed.restore(first.position())
    assert labels(first, 5) == labels(resumed, 5)


def test_rand_skip_has_no_effect_as_in_caffe(source, ten):
    for seed in range(3):
        (first,) = labels(source(net(ten, more="rand_skip: 8"), seed=seed), 1)
        assert first[0] == 0


def test_the_random_transform_does_not_depend_on_the_number_of_workers(
    source, tmp_path, rng
):
    pixels = rng.integers(0, 256, (6, 1, 9, 9), np.uint8)
    database = make_database(
        tmp_path / "db", [write_datum(image, 0) for image in pixels]
    )
    random = "crop_size: 4 mirror: true"
    whole = source(net(database, 4, transform=random))
    parts = [
        source(net(database, 2, transform=random), rank=r, ranks=2) for r in (0, 1)
    ]
    for _ in range(4):
        batch = forward(whole)[0]
        for rank, part in enumerate(parts):
            np.testing.assert_array_equal(forward(part)[0], batch[rank::2])


def test_a_crop_of_the_images_size_is_the_image_or_its_mirror(source, tmp_path, rng):
    image = rng.integers(0, 256, (3, 227, 227), np.uint8)
    database = make_database(tmp_path / "db", [write_datum(image, 0)])
    layer = source(net(database, 4, transform="crop_size: 227 mirror: true"))
    for value in forward(layer)[0]:
        assert (value == image).all() or (value == image[..., ::-1]).all()


def test_a_larger_crop_is_refused_with_both_numbers(source, tmp_path):
    database = make_database(tmp_path / "db", images((3, 227, 227)))
    with pytest.raises(DataError, match=r"crop_size 228x228 .*\(3, 227, 227\)"):
        source(net(database, transform="crop_size: 228"))


def test_a_mean_of_another_size_is_refused_before_training(source, tmp_path):
    database = make_database(tmp_path / "db", images((3, 76, 60)))
    mean = tmp_path / "mean.binaryproto"
    mean.write_bytes(write_mean(np.zeros((3, 25, 25), np.float32)))
    with pytest.raises(DataError) as refused:
        source(net(database, transform=f'mean_file: "{mean}"'))
    for part in (str(mean), database, "(3, 25, 25)", "(3, 76, 60)", "'0000'"):
        assert part in str(refused.value)
    assert "resize the images when the database is made" in str(refused.value)
    assert "use mean_value" in str(refused.value)


def test_a_mean_file_and_mean_values_are_refused(source, ten):
    with pytest.raises(DataError, match="both mean_file"):
        source(net(ten, transform='mean_file: "m" mean_value: 3'))


def test_a_grey_image_among_colour_images_is_named(source, tmp_path):
    database = make_database(tmp_path / "db", [png(5, 5), png(5, 5, channels=1)])
    with pytest.raises(DataError, match=r"key '0001'.*force_color: true"):
        source(net(database))
    layer = source(net(database, transform="force_color: true"))
    assert forward(layer)[0].shape == (2, 3, 5, 5)


def test_a_grey_image_far_back_is_named_when_its_turn_comes(source, tmp_path):
    records = [png(5, 5)] * 5 + [png(5, 5, channels=1)] + [png(5, 5)] * 4
    layer = source(net(make_database(tmp_path / "db", records)))
    forward(layer)
    forward(layer)
    with pytest.raises(DataError, match=r"layer 'd'.*record 5 \(key '0005'\)"):
        forward(layer)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("force", "expected"), [("color", 3), ("gray", 1)])
def test_raw_records_can_be_forced_too(source, tmp_path, channels, force, expected):
    database = make_database(tmp_path / "db", images((channels, 4, 4)))
    layer = source(net(database, transform=f"force_{force}: true"))
    assert forward(layer)[0].shape == (2, expected, 4, 4)


@pytest.mark.parametrize(
    "records",
    [[png(5, 6), png(7, 4)], images((3, 5, 6), (3, 7, 4))],
    ids=["encoded", "raw"],
)
def test_images_of_many_sizes_need_a_batch_of_one(source, tmp_path, records):
    database = make_database(tmp_path / "db", records)
    layer = source(net(database, 1))
    assert [forward(layer)[0].shape for _ in range(3)] == [
        (1, 3, 5, 6),
        (1, 3, 7, 4),
        (1, 3, 5, 6),
    ]
    with pytest.raises(DataError, match=r"\(3, 7, 4\).*\(3, 5, 6\).*batch_size 1"):
        source(net(database, 2))


def test_records_of_channels_last_are_recognised(source, tmp_path):
    database = make_database(tmp_path / "db", images((50, 50, 3)))
    with pytest.raises(DataError, match=r"written as \(H, W, C\)"):
        source(net(database, transform="crop_size: 40"))


def test_a_missing_database_is_told_with_the_layer(source, tmp_path):
    with pytest.raises(DataError, match=r"layer 'd' \(Data\).*LMDB database not found"):
        source(net(tmp_path / "absent"))


def test_a_source_and_a_batch_size_are_needed(source, ten):
    with pytest.raises(DataError, match="has no source"):
        source(net(""))
    with pytest.raises(DataError, match="batch_size is 0"):
        source(net(ten, 0))


def test_training_and_testing_can_share_a_database(source, ten):
    train, test = source(net(ten)), source(net(ten), phase="TEST")
    assert labels(train, 2) == labels(test, 2)
