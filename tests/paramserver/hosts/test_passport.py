from dataclasses import replace

import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.passport import Passport, compare, read_passport

MINE = Passport((2, 1), job={"file net.prototxt": "abc"})


def test_a_passport_travels_as_json():
    assert read_passport(MINE.as_json()) == MINE
    assert compare(MINE, MINE) == []


def test_each_difference_has_a_line_with_both_values():
    theirs = replace(MINE, version="0.0.1", job={"file net.prototxt": "def"})
    lines = compare(MINE, theirs)
    assert lines[1:] == ["  file net.prototxt: abc and def"]
    assert "version" in lines[0]
    assert "0.0.1" in lines[0]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"counts": 3, "job": {}}', b"\xff", b'{"counts": []}']
)
def test_other_bytes_are_refused(data):
    with pytest.raises(ParameterServerError):
        read_passport(data)
