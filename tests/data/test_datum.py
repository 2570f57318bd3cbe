import numpy as np
import pytest

from geeps_caffe.data.datum import DatumReader, layout_hint, write_datum, write_encoded
from prototxt.schema import Datum, message_class


@pytest.fixture
def reader():
    return DatumReader()


def serialize(**fields):
    return Datum(**fields).SerializeToString()


def test_pixels_and_label_are_read(reader, rng):
    pixels = rng.integers(0, 256, (3, 4, 5), np.uint8)
    for label in (0, 7, 300, -1):
        record = serialize(
            channels=3, height=4, width=5, data=pixels.tobytes(), label=label
        )
        for form in (record, memoryview(record)):
            datum = reader.read(form)
            assert datum.label == label
            np.testing.assert_array_equal(datum.pixels, pixels)


def test_records_of_changing_shape_are_read(reader):
    for shape in [(1, 2, 3), (1, 2, 3), (3, 2, 1), (1, 1, 300), (1, 2, 3)]:
        pixels = np.arange(np.prod(shape)).astype(np.uint8).reshape(shape)
        datum = reader.read(write_datum(pixels, 1))
        np.testing.assert_array_equal(datum.pixels, pixels)


def test_what_follows_the_pixels_counts_in_records_that_look_alike(reader):
    head = serialize(channels=1, height=1, width=2, data=b"ab")
    assert reader.read(head).label == 0
    assert reader.read(head + serialize(label=5)).label == 5
    assert reader.read(head + serialize(label=5, encoded=True)).encoded == b"ab"
    assert reader.read(head + serialize(record_id=9)).label == 0


def test_records_that_are_like_the_last_one_are_read_together(reader, rng):
    pixels = rng.integers(0, 256, (3, 1, 2, 3), np.uint8)
    records = [write_datum(p, n) for p, n in zip(pixels, (5, 700, 5), strict=True)]
    assert reader.read_alike(records) is None  # there is no last one
    reader.read(records[0])
    found, labels = reader.read_alike(records)
    np.testing.assert_array_equal(found, pixels)
    assert labels == [5, 700, 5]


def test_records_of_which_one_is_otherwise_are_not_read_together(reader):
    plain = serialize(channels=1, height=1, width=2, data=b"ab")
    reader.read(plain)
    other_shape = serialize(channels=1, height=2, width=1, data=b"ab")
    for other in (plain[:-1], b"", other_shape, plain + serialize(encoded=True)):
        assert reader.read_alike([plain, other]) is None


def test_more_labels_are_read_than_are_remembered(reader):
    pixels = np.zeros((1, 1, 1), np.uint8)
    labels = [*range(5000), *range(4990, 5000)]
    assert [reader.read(write_datum(pixels, n)).label for n in labels] == labels


def test_floats_one_by_one_and_packed_are_read(reader):
    values = np.linspace(-1, 1, 6, dtype=np.float32)
    one_by_one = serialize(channels=1, height=2, width=3, float_data=values, label=4)
    head = serialize(channels=1, height=2, width=3, label=4)
    packed = head + b"\x32\x18" + values.tobytes()
    for record in (one_by_one, packed):
        datum = reader.read(record)
        np.testing.assert_array_equal(datum.pixels, values.reshape(1, 2, 3))
        assert datum.label == 4


def test_an_image_file_stays_as_it_is(reader):
    datum = reader.read(write_encoded(b"\x89PNG...", 3))
    assert (datum.encoded, datum.pixels, datum.label) == (b"\x89PNG...", None, 3)


def test_an_annotated_datum_is_recognised(reader):
    annotated = message_class("AnnotatedDatum")(datum=Datum(channels=3))
    with pytest.raises(ValueError, match=r"AnnotatedDatum \(of SSD\).*AnnotatedData"):
        reader.read(annotated.SerializeToString())


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (b"", "the record is empty"),
        (serialize(channels=3, height=1, width=1), "neither data nor float_data"),
        (b"\x08", "cut off"),
        (b"\x22\x05ab", "cut off"),
        (b"\x35\x00", "cut off"),
        (b"\x0f", "wire type 7"),
        (b"\x08" + b"\xff" * 11, "over 64 bits"),
        (serialize(channels=1, height=2, width=2, data=b"abc"), r"3 values.*needs 4"),
        (serialize(data=b"\xff\xd8\xff\xe0"), "`encoded` should be true"),
    ],
)
def test_a_broken_record_is_refused(reader, record, said):
    with pytest.raises(ValueError, match=said):
        reader.read(record)


def test_a_broken_record_after_a_good_one_is_refused(reader):
    good = write_datum(np.zeros((1, 2, 2), np.uint8), 1)
    reader.read(good)
    with pytest.raises(ValueError, match=r"cut off|smaller"):
        reader.read(good[:-4])


def test_records_of_caffes_image_converter_say_that_they_are_not_encoded():
    record = write_datum(np.zeros((1, 1, 1), np.uint8), 0, mark=True)
    datum = Datum.FromString(record)
    assert (datum.HasField("encoded"), datum.encoded) == (True, False)


@pytest.mark.parametrize("shape", [(3, 224, 224), (1, 28, 28), (4096, 1, 1), (3, 9, 3)])
def test_usual_shapes_are_not_taken_for_channels_last(shape):
    assert layout_hint(shape) == ""
