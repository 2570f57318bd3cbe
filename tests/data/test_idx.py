import bz2
import gzip
import lzma

import numpy as np
import pytest

from geeps_caffe.data.idx import read_compressed, read_idx
from geeps_caffe.errors import DataError


@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".xz", lzma.compress),
        (".bz2", bz2.compress),
    ],
)
def test_files_are_unpacked_by_their_ending(tmp_path, ending, pack):
    (tmp_path / f"a.bin{ending}").write_bytes(pack(b"content"))
    assert read_compressed(str(tmp_path / f"a.bin{ending}")) == b"content"
    assert read_compressed(str(tmp_path / "a.bin")) == b"content"


@pytest.mark.parametrize(
    "content", [gzip.compress(b"content")[:-5], gzip.compress(b"")[:10] + b"\xff" * 9]
)
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.gz' can't be read"):
        read_compressed(str(tmp_path / "a.gz"))


def test_an_idx_file_is_an_array(tmp_path):
    head = (0x803).to_bytes(4, "big") + np.array([2, 1, 3], ">i4").tobytes()
    (tmp_path / "a").write_bytes(head + bytes(range(6)))
    assert read_idx(str(tmp_path / "a"), 3).tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
