import pytest

from prototxt import read_net, read_state, read_weights
from prototxt.errors import PrototxtError
from prototxt.foreign import foreign

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1725006\n"
OTHERS = [
    (POINTER, "git lfs pull"),
    (b"\n<!DOCTYPE html>\n<html><head><title>404</title></head></html>", "web page"),
    (b"<HTML>\n", "web page"),
    (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "packed by gzip; unpack it first"),
    (b"PK\x03\x04\x14\x00\x00\x00\x08\x00", "a zip archive"),
    (b"\x80\x02}q\x00X\x01\x00\x00\x00a", "a pickle of Python"),
    (b"\x93NUMPY\x01\x00v\x00", r"an array of NumPy \(.npy\)"),
    (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG image"),
    (bytes(16) + b"\xde\xc0\xef\xbe\x01\x00\x00\x00", "the data file of an LMDB"),
    (b"lenet/solver.prototxt".ljust(257, b"\0") + b"ustar\x0000", "packed by tar"),
]


@pytest.mark.parametrize("read", [read_net, read_weights, read_state])
@pytest.mark.parametrize(("content", "what"), OTHERS)
def test_files_of_other_programs_are_named(tmp_path, read, content, what):
    path = tmp_path / "given"
    path.write_bytes(content)
    with pytest.raises(PrototxtError, match=what) as error:
        read(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"name: 'a'\n",
        b"# <html>\nname: 'a'",
        b"\nBZhang's net, whose name is of sixty-six letters, all of them in here",
        b"\x08\x01\x10\x03\x18\x05",
    ],
)
def test_files_of_caffe_are_not(content):
    assert foreign(content) is None


def test_a_link_to_nothing_is_said_to_be_one(tmp_path):
    link = tmp_path / "net.prototxt"
    link.symlink_to("../models/net.prototxt")
    with pytest.raises(PrototxtError, match=r"a link to '../models/net.prototxt'"):
        read_net(link)
