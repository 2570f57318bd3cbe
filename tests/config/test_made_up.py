import pytest

from geeps_caffe.config.made_up import read_records
from geeps_caffe.errors import UsageError


@pytest.mark.parametrize(
    "text",
    ["data=3,227,227 label=", "data=3,227,227,label=", " data=3,227,227, label="],
)
def test_records_are_blobs_with_extents(text):
    assert read_records(text) == {"data": (3, 227, 227), "label": ()}


def test_a_single_number_may_come_first():
    assert read_records("label=,data=2") == {"label": (), "data": (2,)}


@pytest.mark.parametrize(
    "text", ["data", "=3", "data=3x4", "data=3,0", "data=3,,4", ","]
)
def test_other_words_are_no_record(text):
    with pytest.raises(UsageError, match="is no shape of a record"):
        read_records(text)
