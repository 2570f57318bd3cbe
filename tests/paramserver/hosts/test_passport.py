import json
from dataclasses import replace

import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.cluster import Cluster
from geeps_caffe.paramserver.hosts.passport import Passport, compare, read_passport
from geeps_caffe.paramserver.hosts.places import Places

MINE = Passport((2, 1), job={"file net.prototxt": "abc"})


def test_a_passport_travels_as_json():
    assert read_passport(MINE.as_json()) == MINE
    assert compare(MINE, MINE) == []


def test_hosts_with_other_numbers_of_channels_differ():
    """Else one would refuse the further connections without a reason."""
    places = Places(("a", "b"), (1, 1), 0)
    one, two = (Cluster(places, channels=n).passport for n in (1, 2))
    assert compare(one, two) == ["  channels: 1 and 2"]


def test_each_difference_has_a_line_with_both_values():
    theirs = replace(MINE, version="0.0.1", job={"file net.prototxt": "def"})
    lines = compare(MINE, theirs)
    assert lines[1:] == ["  file net.prototxt: abc and def"]
    assert "version" in lines[0]
    assert "0.0.1" in lines[0]


def with_field(name, value):
    fields = json.loads(MINE.as_json()) | {name: value}
    return json.dumps(fields).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"counts": 3, "job": {}}',
        b"\xff",
        b'{"counts": []}',
        b"[" * 100_000,
        with_field("counts", [float("inf")]),
        with_field("protocol", float("inf")),
        with_field("wire", [[[]]]),
        with_field("job", {"net": 3}),
        with_field("other", "x"),
    ],
)
def test_other_bytes_are_refused(data):
    with pytest.raises(ParameterServerError, match="not a greeting"):
        read_passport(data)


def test_a_text_that_is_none_can_be_told_of():
    theirs = read_passport(with_field("version", "\ud800"))
    (line,) = compare(MINE, theirs)
    assert line.encode().endswith(b" and ?")
