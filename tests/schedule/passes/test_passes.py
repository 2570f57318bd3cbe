import pytest

from geeps_caffe.errors import UsageError
from geeps_caffe.schedule.passes import NAMES, parse_passes


def test_passes_are_left_out_by_name():
    assert parse_passes("") == ()
    assert parse_passes("norms,unread") == ("norms", "unread")
    assert parse_passes("all") == NAMES


def test_an_unknown_name_is_refused_with_near_ones():
    with pytest.raises(UsageError, match=r"'norm'.*norms"):
        parse_passes("norm")
